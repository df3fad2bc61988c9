import { gzipSync } from 'node:zlib';
import type { HttpBindings } from '@hono/node-server';
import type { HonoRequest } from 'hono';
import type { Churn } from '../churn/churn.ts';
import type { Conditions } from '../actions.ts';
import { answerInstead, emptyPage, rewritePage } from '../faults/answer-instead.ts';
import { planFault, type FaultOptions } from '../faults/fault-plan.ts';
import { reset, send, sendBadly, type Sent } from '../faults/send.ts';
import { rateLimiter, type RateLimit } from '../rate-limits.ts';
import type { SandboxClock } from '../sandbox-clock.ts';
import { type Answer, Refusal, throttledAnswer } from './answer.ts';
import type { KeyIndexes } from './authorize.ts';
import type { Profile, Route } from './profile.ts';

/** One request to an endpoint, as the service saw it. */
export type LoggedRequest = {
  /** When it arrived, on the service's clock; never earlier than the request before. */
  atMs: number;
  endpoint: string;
  /** 0 until the answer is sent, and if no answer is sent. */
  status: number;
  /** As in the request; null if it names none. */
  offset: number | null;
  limit: number | null;
  /** 0 for the key with every scope, 1 for the read-only key, 2 and more for others; null for an unknown key. */
  keyIndex: number | null;
};

export type RequestLog = ReturnType<typeof requestLog>;

/** The latest `capacity` requests, in the order in which they arrived. */
export function requestLog(capacity: number) {
  let entries: LoggedRequest[] = [];
  return {
    /** Keeps the entry itself: its status may be filled in later. */
    add(entry: LoggedRequest): void {
      entries.push(entry);
      // The list is cut only now and then: removing the first item of a long list moves all others.
      if (entries.length >= capacity * 2) entries = entries.slice(-capacity);
    },
    all: (): LoggedRequest[] => entries.slice(-capacity),
    clear: (): void => {
      entries = [];
    },
  };
}

/** What each request passes before it reaches the service. */
export type TrafficParts = {
  profile: Profile;
  clock: SandboxClock;
  log: RequestLog;
  keyIndexes: KeyIndexes;
  rates: readonly RateLimit[];
  faults: FaultOptions | undefined;
  churn: Churn | undefined;
  conditions: Conditions;
};

export type Traffic = ReturnType<typeof createTraffic>;

/** The way of every request to an endpoint: log, rate limit, faults, changes of the data, and the answer. */
export function createTraffic(parts: TrafficParts) {
  const { profile, clock, log, keyIndexes, faults, churn, conditions } = parts;
  const limiter = rateLimiter(parts.rates);
  let requestNumber = 0;
  let latestMs = 0;

  const enter = (req: HonoRequest, { name }: Route): LoggedRequest => {
    requestNumber += 1;
    // The log and the windows need times that never go back, even if the clock does.
    latestMs = Math.max(latestMs, clock.now());
    const entry: LoggedRequest = {
      atMs: latestMs,
      endpoint: name,
      status: 0,
      offset: wholeNumber(req.query('offset')),
      limit: wholeNumber(req.query('limit')),
      keyIndex: keyIndexes.of(req.header('Authorization')),
    };
    log.add(entry);
    return entry;
  };

  const answerOrRefuse = async (number: number, answer: () => Promise<Answer>): Promise<Answer> => {
    try {
      return await answer();
    } catch (error) {
      if (error instanceof Refusal) return profile.refuse(error, number);
      throw error;
    }
  };

  const serve = async (
    { req, env: { outgoing } }: { req: HonoRequest; env: HttpBindings },
    { row, name }: Route,
    { offset, limit, keyIndex }: LoggedRequest,
    answer: () => Promise<Answer>,
  ): Promise<Sent> => {
    const number = requestNumber;
    const waitMs = limiter.admit(String(keyIndex), latestMs);
    if (waitMs > 0) return send(throttledAnswer(waitMs));
    const isList = name.endsWith('.list');
    const asked = { offset: offset ?? 0, limit: limit ?? 0 };
    const planned = faults && planFault(faults, { requestNumber: number, method: row.method, isList, ...asked });
    if (planned?.fault === 'reset') return reset(outgoing);
    const instead = planned && answerInstead(planned, latestMs);
    if (instead) return send(instead);
    profile.beforeRequest(number);
    churn?.passRequest(isList, clock.now());
    const answered = await answerOrRefuse(number, answer);
    if (isList && answered.status === 200 && answered.headers['Content-Type'] === 'application/json') {
      if (conditions.listsEmpty) answered.body = emptyPage(String(answered.body));
      if (planned) answered.body = rewritePage(planned.fault, String(answered.body), asked);
    }
    const takesGzip = /\bgzip\b/.test(req.header('Accept-Encoding') ?? '');
    const sendable = profile.packs && takesGzip ? packed(answered) : answered;
    return planned ? sendBadly(sendable, planned, outgoing) : send(sendable);
  };

  return {
    /** Sends what `answer` returns, or the refusal that it throws. A rate limit or a fault may answer before. */
    async pass(
      context: { req: HonoRequest; env: HttpBindings },
      route: Route,
      answer: () => Promise<Answer>,
    ): Promise<Response> {
      const entry = enter(context.req, route);
      const { response, status } = await serve(context, route, entry, answer);
      entry.status = status;
      return response;
    },
  };
}

/** The same answer with its body packed, if it has a body. */
function packed(answer: Answer): Answer {
  if (answer.body === '') return answer;
  return {
    ...answer,
    headers: { ...answer.headers, 'Content-Encoding': 'gzip' },
    body: gzipSync(answer.body, { level: 1 }),
  };
}

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
