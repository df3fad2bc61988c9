import { receiptText } from '../erasure/request/receipt.ts';
import { jsonText, problem, retryAfter, type Answer } from './answer.ts';
import { agentRoutes, type AgentParts } from './agent-routes.ts';
import { bodyBytesMax, idempotencyKeyForm, readRequest } from './given-request.ts';
import { buckets, takeToken } from './limits.ts';
import type { Call, Route } from './route.ts';
import { senderFinder, type KnownSender } from './sender.ts';
import { statusOf } from './status-of.ts';
import { createSubmitter, type SubmitterParts } from './submitter.ts';

/** What the answers are made of. */
export type RouteParts = SubmitterParts & AgentParts;

/** So many calls a sender may make at once, and in how long as many more: replays and looks at a status too. */
const callRate = { most: 200, refillMs: 20_000 };

/** Makes the answerer of calls. It rejects only where the program is wrong. */
export function intakeRoutes(parts: RouteParts): (call: Call) => Promise<Answer> {
  const { nowMs, senders } = parts;
  const findSender = senderFinder(senders);
  const { submit, find } = createSubmitter(parts);
  const callsOf = buckets(nowMs);
  const agents = agentRoutes({ ...parts, submit, find });
  const routes: Route[] = [
    { path: /^\/v1\/requests$/, method: 'POST', profile: 'plain', act: postRequest },
    { path: /^\/v1\/requests\/([0-9a-f-]{36})$/, method: 'GET', profile: 'plain', act: getRequest },
    ...agents.routes,
  ];
  return async (call) => {
    const here = routes.filter(({ path }) => path.test(call.path));
    const route = here.find(({ method }) => method === call.method);
    const named = route?.path.exec(call.path)?.[1] ?? '';
    if (here.length === 0) return problem('not_found', {}, true);
    if (!route) return problem('method_not_allowed', { Allow: here.map(({ method }) => method).join(', ') }, true);
    // An agent has no key before it asks for one.
    const isSetUp = route.act === agents.setUp;
    const known = isSetUp ? agents.senderOf(named) : findSender(call.header('authorization'));
    if (!known || (known.sender.agent === null) !== (route.profile === 'plain'))
      return isSetUp
        ? problem('not_signed', {}, true)
        : problem('not_authorized', { 'WWW-Authenticate': 'Bearer realm="analytics-mirror intake"' }, true);
    // Anybody can ask for a key in an agent's name: that takes nothing of what the agent has.
    const bucket = callsOf(isSetUp ? `setting up ${known.sender.name}` : known.sender.name, callRate);
    const waitMs = takeToken(bucket, callRate, nowMs());
    if (waitMs > 0) return problem('too_many', retryAfter(waitMs), true);
    return route.act(call, known, named);
  };

  async function postRequest(call: Call, known: KnownSender): Promise<Answer> {
    const idempotencyKey = call.header('idempotency-key') ?? '';
    if (!idempotencyKeyForm.test(idempotencyKey)) return problem('no_idempotency_key', {}, true);
    const body = await readJsonBody(call);
    if (!Buffer.isBuffer(body)) return body;
    const request = readRequest(body, known.sender.kinds);
    if (typeof request === 'string') return problem(request);
    const submitted = await submit(known, idempotencyKey, request);
    if ('answer' in submitted) return submitted.answer;
    const headers = { Location: `/v1/requests/${submitted.receipt.request}` };
    return { status: 201, body: receiptText(submitted.receipt), headers };
  }

  async function getRequest(_call: Call, known: KnownSender, id: string): Promise<Answer> {
    const told = await find(known, id);
    if ('answer' in told) return told.answer;
    return { status: 200, body: jsonText(statusOf(told.found, known.sender.outcome, nowMs())) };
  }
}

/** The body of a call that has JSON, or why there is none. */
async function readJsonBody(call: Call): Promise<Buffer | Answer> {
  const isJson = /^application\/json *(;|$)/i.test(call.header('content-type') ?? '');
  if (!isJson || call.header('content-encoding') !== undefined) return problem('not_json_type', {}, true);
  return (await call.readBody(bodyBytesMax)) ?? problem('too_large', {}, true);
}
