import { gzipSync } from 'node:zlib';
import { type Answer, jsonAnswer, Refusal, refusalAnswer } from '../http/answer.ts';
import type { Fault, PlannedFault } from './fault-plan.ts';

type Make = (planned: Omit<PlannedFault, 'fault'>, nowMs: number) => Answer;

/** The answer that a fault gives in the service's place, which then does nothing; undefined where it gives none. */
export function answerInstead(planned: PlannedFault, nowMs: number): Answer | undefined {
  return answers[planned.fault]?.(planned, nowMs);
}

const answers: Partial<Record<Fault, Make>> = {
  '429': ({ isMild, random }, nowMs) => {
    const retryAfter = isMild ? random.pick(['0', '1', undefined]) : random.pick(retryAfterForms)(nowMs);
    const answer = refusalAnswer(new Refusal('throttled', 'Request was throttled.'));
    if (retryAfter !== undefined) answer.headers['Retry-After'] = retryAfter;
    return answer;
  },
  '500': () => jsonAnswer(500, serverError('error', 'A server error occurred.')),
  '502': () => page(502, 'Bad Gateway'),
  '503': () => page(503, 'Service Unavailable'),
  '504': () => page(504, 'Gateway Timeout'),
  '512': () => jsonAnswer(512, serverError('query_exceeded_limits', 'The query took too long.')),
  html: () => page(200, 'Log in'),
  empty: () => ({ status: 200, headers: { 'Content-Length': '0' }, body: '' }),
  garbage: () => jsonAnswer(200, '{"next":null,"previous":null,"results":[{"uuid":"0198'),
  huge: () => ({
    status: 200,
    headers: { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
    body: hugeBody(),
  }),
  redirect: () => ({
    status: 302,
    headers: { Location: 'http://login.example.invalid/login?next=/', 'Content-Length': '0' },
    body: '',
  }),
  deep: () => jsonAnswer(500, serverError('error', 'Query exceeded its memory limit.')),
};

const retryAfterForms: readonly ((nowMs: number) => string | undefined)[] = [
  () => '1',
  (nowMs) => new Date(nowMs + 2000).toUTCString(),
  () => undefined,
  () => '1000000000',
];

function serverError(code: string, detail: string): string {
  return JSON.stringify({ type: 'server_error', code, detail, attr: null });
}

function page(status: number, title: string): Answer {
  const body = `<!doctype html><html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`;
  return { status, headers: { 'Content-Type': 'text/html; charset=utf-8' }, body };
}

const hugeMegabytes = 300;

/** One packed megabyte of spaces, over and over: gzip reads its members one after the other. */
function hugeBody(): Buffer {
  const member = gzipSync(Buffer.alloc(1024 * 1024, ' '));
  return Buffer.concat([
    gzipSync('{"next":null,"previous":null,"results":['),
    ...Array.from({ length: hugeMegabytes }, () => member),
    gzipSync(']}'),
  ]);
}
