import type { IncomingMessage } from 'node:http';
import { createBudget, type Turn } from '../../src/client/budget.ts';
import type { Deprecation } from '../../src/client/deprecation.ts';
import { createService } from '../../src/client/service.ts';
import type { Clock } from '../../src/core/clock.ts';
import type { AppError } from '../../src/core/errors.ts';
import { bodyOf, type Answerer } from './local-server.ts';
import { transportTo } from './local-transport.ts';

type Asked = { line: string; contentType: string | undefined; body: string };
type Answer = { status?: number; type?: string; text?: string | Buffer; headers?: Record<string, string> };

/** A JSON answer. */
export const json = (text: string | Buffer): Answer => ({ type: 'application/json', text });

/** The service at a local server that gives these answers in turn, the last one for ever. */
export const serviceAt = (...answers: Answer[]) => serviceBelow('/api/environments/1', ...answers);

/** The same, with a path of its own to the project. */
export const serviceBelow = (projectPath: string, ...answers: Answer[]) => serviceWith({ projectPath }, ...answers);

/** The same, that repeats a call for so long at most. */
export const serviceWithin = (totalMs: number, ...answers: Answer[]) => serviceWith({ totalMs }, ...answers);

async function serviceWith(
  { projectPath = '/api/environments/1', totalMs = 600_000 }: { projectPath?: string; totalMs?: number },
  ...answers: Answer[]
) {
  const asked: Asked[] = [];
  const sleeps: number[] = [];
  const retried: AppError[] = [];
  const turns: Turn[] = [];
  const pauses: number[] = [];
  const deprecations: Deprecation[] = [];
  const answerNext: Answerer = async (request, response) => {
    asked.push(await askedBy(request));
    const { status = 200, type, text, headers } = answers[Math.min(asked.length, answers.length) - 1] ?? {};
    response.writeHead(status, { ...(type !== undefined && { 'content-type': type }), ...headers });
    response.end(text);
  };
  const transport = await transportTo(answerNext);
  let nowMs = Date.UTC(2026, 0, 1);
  const clock: Clock = {
    now: () => nowMs,
    sleep: async (ms) => {
      sleeps.push(ms);
      nowMs += ms;
    },
  };
  const budget = createBudget({ concurrency: 2, windows: [], recordings: { windows: [] } }, clock);
  const service = createService({
    transport,
    budget: {
      ...budget,
      run: (request, turn) => {
        turns.push(turn);
        return budget.run(request, turn);
      },
    },
    clock,
    random: () => 0.5,
    retryLimits: { attemptsMax: 3, totalMs, delayBaseMs: 100, delayMaxMs: 1000, retryAfterMaxMs: 60_000 },
    jsonDepthMax: 200,
    jsonValuesMax: 1_000_000,
    projectPath,
    onRetry: (error) => retried.push(error),
    onThrottled: (pauseMs) => pauses.push(pauseMs),
    onDeprecated: (deprecation) => deprecations.push(deprecation),
  });
  return { service, asked, sleeps, retried, turns, pauses, deprecations, budget };
}

async function askedBy(request: IncomingMessage): Promise<Asked> {
  const { method, url, headers } = request;
  return { line: `${method} ${url}`, contentType: headers['content-type'], body: await bodyOf(request) };
}
