import type { Sender } from '../config/settings.ts';
import { receiptText } from '../erasure/request/receipt.ts';
import { jsonText, problem, retryAfter, type Answer } from './answer.ts';
import { bodyBytesMax, idempotencyKeyForm, readRequest, type GivenRequest } from './given-request.ts';
import { buckets, giveBack, takeToken } from './limits.ts';
import type { Asked, Told } from './receiver.ts';
import { attemptsOf, isOwnId, senderFinder, type KnownSender } from './sender.ts';
import { statusOf } from './status-of.ts';

/** A call as it comes in. The body is read only where it is wanted; undefined where it is longer than `bodyBytesMax`. */
export type Call = {
  method: string;
  path: string;
  header: (name: string) => string | undefined;
  readBody: (bytesMax: number) => Promise<Buffer | undefined>;
};

/** What the answers are made of. `ask` takes what is asked to the ledger of a project. */
export type RouteParts = {
  senders: readonly Sender[];
  nowMs: () => number;
  ask: (project: string | null, asked: Asked) => Promise<Told>;
};

/** A way into the intake. */
type Route = {
  path: RegExp;
  method: 'GET' | 'POST';
  act: (call: Call, sender: KnownSender, id: string) => Promise<Answer>;
};

/** So many calls a sender may make at once, and in how long as many more: replays and looks at a status too. */
const callRate = { most: 200, refillMs: 20_000 };
const hourMs = 3_600_000;
/** No answer takes longer, whatever the ledger is doing. */
const answerMsMax = 700;

/** Makes the answerer of calls. It rejects only where the program is wrong. */
export function intakeRoutes(parts: RouteParts): (call: Call) => Promise<Answer> {
  const findSender = senderFinder(parts.senders);
  const [callsOf, requestsOf] = [buckets(parts.nowMs), buckets(parts.nowMs)];
  const routes: Route[] = [
    { path: /^\/v1\/requests$/, method: 'POST', act: postRequest },
    { path: /^\/v1\/requests\/([0-9a-f-]{36})$/, method: 'GET', act: getRequest },
  ];
  return async (call) => {
    const here = routes.filter(({ path }) => path.test(call.path));
    const route = here.find(({ method }) => method === call.method);
    if (here.length === 0) return problem('not_found', {}, true);
    if (!route) return problem('method_not_allowed', { Allow: here.map(({ method }) => method).join(', ') }, true);
    const sender = findSender(call.header('authorization'));
    if (!sender)
      return problem('not_authorized', { 'WWW-Authenticate': 'Bearer realm="analytics-mirror intake"' }, true);
    const waitMs = takeToken(callsOf(sender.sender.name, callRate), callRate, parts.nowMs());
    if (waitMs > 0) return problem('too_many', retryAfter(waitMs), true);
    return route.act(call, sender, route.path.exec(call.path)?.[1] ?? '');
  };

  async function postRequest(call: Call, known: KnownSender): Promise<Answer> {
    const { sender } = known;
    const idempotencyKey = call.header('idempotency-key') ?? '';
    if (!idempotencyKeyForm.test(idempotencyKey)) return problem('no_idempotency_key', {}, true);
    const body = await readJsonBody(call);
    if (!Buffer.isBuffer(body)) return body;
    const request = readRequest(body, sender.kinds);
    if (typeof request === 'string') return problem(request);
    const rate = { most: sender.perHour, refillMs: hourMs };
    const bucket = requestsOf(sender.name, rate);
    const waitMs = takeToken(bucket, rate, parts.nowMs());
    if (waitMs > 0) return problem('too_many', retryAfter(waitMs));
    const told = await within(parts.ask(sender.project, { receive: onceOf(known, idempotencyKey, request) }));
    const isNew = told !== 'late' && 'receipt' in told && !told.isKnown;
    // What is late may be new. What was there already, or is not there, takes nothing of the limit.
    if (told !== 'late' && !isNew) giveBack(bucket, rate);
    if (told === 'late' || 'unavailable' in told) return problem('unavailable', retryAfter(5_000));
    if ('refused' in told) return problem(told.refused);
    if (!('receipt' in told)) return problem('failed');
    const headers = { Location: `/v1/requests/${told.receipt.request}` };
    return { status: 201, body: receiptText(told.receipt), headers };
  }

  async function getRequest(_call: Call, known: KnownSender, id: string): Promise<Answer> {
    if (!isOwnId(known, id)) return problem('no_such_request');
    const told = await within(parts.ask(known.sender.project, { find: id }));
    if (told === 'late' || 'unavailable' in told) return problem('unavailable', retryAfter(5_000));
    if (!('found' in told) || told.found === undefined) return problem('no_such_request');
    return { status: 200, body: jsonText(statusOf(told.found, known.sender.outcome, parts.nowMs())) };
  }
}

/** The body of a call that has JSON, or why there is none. */
async function readJsonBody(call: Call): Promise<Buffer | Answer> {
  const isJson = /^application\/json *(;|$)/i.test(call.header('content-type') ?? '');
  if (!isJson || call.header('content-encoding') !== undefined) return problem('not_json_type', {}, true);
  return (await call.readBody(bodyBytesMax)) ?? problem('too_large', {}, true);
}

/** A request, as the ledger is asked for it. Who allows it is its sender: nobody else has a word here, and nothing is approved. */
function onceOf(
  known: KnownSender,
  idempotencyKey: string,
  request: GivenRequest,
): Extract<Asked, { receive: unknown }>['receive'] {
  const { identifier, basis, reference, keep_events: keepEvents, identity } = request;
  const by = reference === undefined ? known.sender.name : `${known.sender.name}/${reference}`;
  return {
    attempts: attemptsOf(known, idempotencyKey, request),
    given: identifier,
    authority: { basis, by, deleteEvents: !keepEvents, ...(identity === undefined ? {} : { decision: { identity } }) },
  };
}

function within(told: Promise<Told>): Promise<Told | 'late'> {
  const { promise, resolve } = Promise.withResolvers<'late'>();
  const timer = setTimeout(() => resolve('late'), answerMsMax);
  return Promise.race([told, promise]).finally(() => clearTimeout(timer));
}
