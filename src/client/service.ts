import type { z } from 'zod';
import { endpoints, type Endpoint } from '../contract/endpoints.ts';
import { optionalEndpoints } from '../contract/optional-endpoints.ts';
import { projectEndpoints } from '../contract/projects.ts';
import type { Clock } from '../core/clock.ts';
import { parseDeepJson, type JsonBounds } from '../core/deep-json.ts';
import { AppError } from '../core/errors.ts';
import { heardOf, type Heard } from '../core/present.ts';
import { backoffMs, retry, type RetryLimits } from '../core/retry.ts';
import { countedText } from '../core/words.ts';
import { silentTracer, type Tracer } from '../log/tracer.ts';
import type { Budget, Priority } from './budget.ts';
import { kindOfBody, readBody } from './body.ts';
import { parseDeprecation, type Deprecation } from './deprecation.ts';
import { basePath, fillPath, queryText, withoutFalse } from './request-path.ts';
import { parseRetryAfterMs, refusalError, type AskedWait, type Refusal } from './refusal.ts';
import type { Transport, TransportRequest, TransportResponse } from './transport.ts';
import { hasRoute } from '../contract/identity.ts';
import { datasets, laneOf, type Lane, type PagedDataset } from '../contract/datasets.ts';

const callable = { ...endpoints, ...projectEndpoints, ...optionalEndpoints };

/** An endpoint of the contract, the list of projects, or an endpoint that only some services have. */
type CallableName = keyof typeof callable;

/** Parameters of a call, typed by the endpoint's row. `extraQuery` is sent as it is, beside the documented query. */
export type CallArguments<N extends CallableName> = {
  params?: z.output<(typeof callable)[N]['params']>;
  query?: z.output<(typeof callable)[N]['query']>;
  body?: unknown;
  extraQuery?: Readonly<Record<string, string | number | boolean>>;
  /** Which request starts first when the budget is short; `full` by default. */
  priority?: Priority;
  signal?: AbortSignal | undefined;
  /** Reads the JSON of a documented answer otherwise than whole. Throws `SyntaxError` for bytes that are not JSON. */
  readJson?: JsonReader;
};

/** Reads the bytes of a JSON text in UTF-8. */
export type JsonReader = (bytes: Buffer, bounds: JsonBounds) => unknown;

/** A documented answer. `body` is JSON exactly as sent, or text (CSV), or undefined. Its content is not checked. */
export type Reply = { status: number; body: unknown; date: string | undefined };

/** The service's API: every endpoint, under the budget. A call is repeated if that can help. */
export type Service = {
  /** Rejects with an `AppError`: `usage`, `refused`, `rejected`, `service`, `oversize` or `unreachable`. */
  call<N extends CallableName>(name: N, args?: CallArguments<N>): Promise<Reply>;
  /** Requests sent so far, repeated ones included. */
  requestCount(): number;
  /** The last answer of any status that told the service's time; undefined before. */
  heard?(): Heard | undefined;
  /** Forgets it: what an earlier run has heard tells nothing of a clock that may have jumped since. */
  forgetTime?(): void;
};

/** How long a call is repeated. A 429 whose `Retry-After` is longer than `retryAfterMaxMs` ends it. */
type CallLimits = RetryLimits & { retryAfterMaxMs: number };

/** What the client needs. `onRetry`: an attempt will be repeated. `onThrottled`: a 429, with the pause for all. */
export type ServiceParts = JsonBounds & {
  transport: Transport;
  budget: Budget;
  clock: Clock;
  /** Records every request, by its endpoint only. */
  tracer?: Tracer;
  random: () => number;
  retryLimits: CallLimits;
  /** What to do where the service refuses the key. */
  keyAdvice?: string;
  /** Path prefix and project, as in `/api/environments/1`. With no project, as in `/api/environments/`, only projects can be listed. */
  projectPath: string;
  onRetry?: (error: AppError, repeated: { endpoint: string; attempt: number; delayMs: number }) => void;
  onThrottled?: (pauseMs: number) => void;
  /** Is called once, with the first answer whose headers declare the address deprecated. */
  onDeprecated?: (deprecation: Deprecation) => void;
};

/** `isStale`: a cache made the answer before it was asked for. */
type Answered = TransportResponse & { isStale: boolean };

/** An `Age` has whole seconds. */
const ageStepMs = 1000;

/** Makes the client from the endpoint table. A request that waits for its next attempt holds no place in the queue. */
export function createService(parts: ServiceParts): Service {
  const { transport, budget, clock, random, retryLimits, projectPath, onRetry, onThrottled, onDeprecated } = parts;
  const { tracer = silentTracer } = parts;
  let requests = 0;
  let isDeprecated = false;
  let heard: Heard | undefined;
  const send = async (request: TransportRequest, lane: Lane, attempt: number): Promise<Answered> => {
    requests += 1;
    const sentAtMs = clock.now();
    const response = await transport.send(request);
    const { date, ageSeconds = 0 } = response;
    const isStale = ageSeconds > 0 && ageSeconds * 1000 > clock.now() - sentAtMs + ageStepMs;
    if (!isStale) heard = heardOf(date, sentAtMs, clock.now()) ?? heard;
    const deprecation = isDeprecated ? null : parseDeprecation(response.deprecation, response.sunset);
    if (deprecation) {
      isDeprecated = true;
      onDeprecated?.(deprecation);
    }
    if (response.status === 429) {
      // Before the request frees its place, so that no other request takes it.
      const waitMs = askedWaitMs(response, parts) ?? backoffMs(attempt, retryLimits, random);
      const pauseMs = Math.min(waitMs, retryLimits.retryAfterMaxMs);
      await budget.slowDown({ lane, tookMs: clock.now() - sentAtMs, pauseMs });
      onThrottled?.(pauseMs);
    }
    return { ...response, isStale };
  };
  return {
    requestCount: () => requests,
    heard: () => heard,
    forgetTime: () => {
      heard = undefined;
    },
    call: async (name, args = {}) => {
      const { params = {}, query = {}, body, extraQuery = {}, priority = 'full', signal, readJson = readWhole } = args;
      const endpoint: Endpoint = callable[name];
      const path = `${basePath(endpoint, projectPath)}${fillPath(endpoint, params)}/${queryText({ ...extraQuery, ...withoutFalse(query) })}`;
      const lane = laneOf(name);
      const request = {
        method: endpoint.method,
        path,
        signal,
        ...(endpoint.body && body !== undefined ? { body: JSON.stringify(body) } : {}),
      };
      const called = `${endpoint.method} ${endpoint.path}`;
      // Waits for the budget, and those that a 429 asks for, may be longer than a call is repeated.
      let waitedMs = 0;
      return await retry(
        async (attempt) => {
          const about = { 'http.request.method': endpoint.method, 'url.template': endpoint.path };
          return tracer.span(called, { kind: 'client', attributes: about }, async (set) => {
            const askedAtMs = clock.now();
            const begin = (isLate: () => boolean): Promise<Answered> => {
              const turnMs = clock.now() - askedAtMs;
              set({ 'analytics_mirror.waited_ms': turnMs });
              if (attempt > 1) waitedMs += turnMs;
              return send({ ...request, isLate }, lane, attempt);
            };
            const response = await budget.run(begin, { lane, priority, signal });
            set({ 'http.response.status_code': response.status });
            const retryAfterMs = askedWaitMs(response, parts);
            const { retryAfterMaxMs } = retryLimits;
            if (response.status === 429) waitedMs += Math.min(retryAfterMs ?? 0, retryAfterMaxMs);
            return readReply(endpoint, response, {
              path,
              retryAfterMs,
              retryAfterMaxMs,
              keyAdvice: parts.keyAdvice,
              extraNames: Object.keys(extraQuery),
              nowMs: clock.now(),
              bounds: parts,
              readJson,
            });
          });
        },
        // Only reads are sent again. After a lost answer to a change, the caller must find out what happened.
        { ...retryLimits, attemptsMax: endpoint.method === 'GET' || endpoint.isRead ? retryLimits.attemptsMax : 1 },
        {
          clock,
          random,
          signal,
          onRetry: (error, attempt, delayMs) => onRetry?.(error, { endpoint: called, attempt, delayMs }),
          uncountedMs: () => waitedMs,
        },
      );
    },
  };
}

/** The wait that an answer asks for. One that is longer than is obeyed counts for a 429 only, which it ends. */
function askedWaitMs(
  { status, retryAfter, date }: TransportResponse,
  { clock, retryLimits }: ServiceParts,
): number | undefined {
  const waitMs = parseRetryAfterMs(retryAfter, date, clock.now());
  return status === 429 || (waitMs ?? 0) <= retryLimits.retryAfterMaxMs ? waitMs : undefined;
}

function readReply(
  endpoint: Endpoint,
  { status, contentType, bytes, date, location, ageSeconds = 0, isStale }: Answered,
  {
    bounds,
    readJson,
    ...asked
  }: Pick<Refusal, 'path' | 'keyAdvice' | 'extraNames' | keyof AskedWait> & {
    bounds: JsonBounds;
    readJson: JsonReader;
  },
): Reply {
  const isSuccess = (status >= 200 && status < 300) || status === endpoint.status;
  const body = readBody(contentType, bytes, (text) => (isSuccess ? readJson : readWhole)(text, bounds));
  if (!isSuccess) throw refusalError(endpoint, { ...asked, status, body, location, isCached: ageSeconds > 0 });
  // What was true before proves nothing of a list, nor of a row, now.
  if (isStale && endpoint.method === 'GET')
    throw new AppError(
      `a cache before the service gave an answer to GET ${endpoint.path} that ${ageSeconds === Infinity ? 'tells no age' : `is ${countedText(ageSeconds, 'second')} old`}`,
      { code: 'service', status, hint: 'let requests to the API pass the cache by: each asks for that (no-cache)' },
    );
  // A live service takes a change with 202 and no body, and makes it later.
  const isTaken = endpoint.method === 'PATCH' && status === 202 && body === undefined;
  const isExpected =
    endpoint.response === null || isTaken
      ? !contentType.includes('html')
      : typeof body === 'object' || contentType.startsWith('text/csv');
  if (!isExpected)
    throw new AppError(
      `${endpoint.method} ${endpoint.path} answered ${status} with ${kindOfBody(contentType)} instead of JSON`,
      {
        code: 'service',
        status,
        // A proxy also answers in this way while the service behind it restarts.
        retryable: true,
        hint: 'a login page or a proxy may stand before the service; check service.baseUrl and service.pathPrefix',
      },
    );
  return { status, body, date };
}

/** Reads the whole of a JSON text, as `parseDeepJson` does. */
export const readWhole: JsonReader = (bytes, { jsonDepthMax, jsonValuesMax }) =>
  parseDeepJson(bytes.toString('utf8'), jsonDepthMax, jsonValuesMax);

/** How many rows a list may show that is asked for one identifier: a service that ignores the question shows a page. */
export const rowsOfOneMax = 10_000;

/**
 * The body of the answer to a call; undefined if the service says itself that nothing is there (404). Rejects as the call does,
 * and with `service` for a 404 in other words: it says nothing.
 */
export async function bodyOrMissing(call: Promise<Reply>): Promise<unknown> {
  try {
    return (await call).body;
  } catch (error) {
    if (!(error instanceof AppError) || error.status !== 404) throw error;
    if (!error.isForeign) return undefined;
    throw asServiceError(error);
  }
}

/** A refusal that is not in the service's own words, as a failure of the service: it says nothing. */
export function asServiceError({ message, status, hint, isForeign }: AppError): AppError {
  return new AppError(message, { code: 'service', isForeign, hint, ...(status === undefined ? {} : { status }) });
}

/**
 * What a 404 says of a recording: it is gone, or nothing, where the service has no route for its id, or it did not come in the
 * service's own words: a proxy may have no route for the call. Undefined for any other error.
 */
export function readMissing(error: unknown, recordingId: string): 'gone' | 'unknown' | undefined {
  if (!(error instanceof AppError) || error.status !== 404) return undefined;
  return hasRoute(recordingId) && !error.isForeign ? 'gone' : 'unknown';
}

/** So many failed questions in one run are a failure of the service, and not of single rows or persons. */
export const singleCasesMax = 10;

/** Whether an error may be about the one thing that was asked for, so that it is worth asking for others: no wait longer than is obeyed. */
export function isSingleCase(error: unknown): error is AppError {
  const isSingle = error instanceof AppError && ['service', 'rejected', 'oversize'].includes(error.code);
  return isSingle && (error.status !== 429 || error.retryable);
}

/** Asks for one row of a list. Rejects where the project does not answer: then a 404 by id says nothing about a row. */
export async function askForProject(service: Service, dataset: PagedDataset, signal: AbortSignal): Promise<void> {
  const query = { limit: 1, offset: 0 };
  await service.call(datasets[dataset].list, { query, priority: 'deletion', signal });
}
