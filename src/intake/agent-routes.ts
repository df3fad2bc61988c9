import { sha256 } from '../core/digest.ts';
import type { Sender } from '../config/sender.ts';
import { jsonText, problem, type Answer } from './answer.ts';
import { Claims, Exercise, readMessage, type Reader } from './agent-message.ts';
import { bodyBytesMax, GivenRequest } from './given-request.ts';
import type { Found } from './receiver.ts';
import type { Call, Route } from './route.ts';
import type { KnownSender } from './sender.ts';
import { statusOf } from './status-of.ts';
import type { Submitter } from './submitter.ts';

// The Data Rights Protocol 1.0 over the same core: agents sign what they ask for, and ask for their key by a signed message.

/** The ways in for agents, and the one by which an agent asks for its key. */
export type AgentRoutes = {
  routes: readonly Route[];
  setUp: Route['act'];
  /** The sender that an agent is, before it has a key. */
  senderOf: (agent: string) => KnownSender | undefined;
};

/** The agents among the senders, the business that their messages have to be for, and their keys by their ids. */
export type AgentParts = {
  senders: readonly Sender[];
  businessId: string | null;
  tokens: ReadonlyMap<string, string>;
  nowMs: () => number;
};

/** Makes them. */
export function agentRoutes({ senders, businessId, tokens, nowMs, submit, find }: AgentParts & Submitter): AgentRoutes {
  const byAgent = new Map(senders.flatMap((sender) => (sender.agent ? [[sender.agent.id, sender] as const] : [])));
  const readerOf = (agent: NonNullable<Sender['agent']>): Reader => ({ agent, businessId, nowMs: nowMs() });
  const read = async <T extends typeof Claims>(call: Call, { sender }: KnownSender, claims: T) => {
    const body = await call.readBody(bodyBytesMax);
    if (!sender.agent || !body) return 'the message is longer than 65,536 bytes';
    return readMessage(body, claims, readerOf(sender.agent));
  };
  const setUp: Route['act'] = async (call, known, agent) => {
    const claims = await read(call, known, Claims);
    const token = tokens.get(agent);
    if (typeof claims === 'string' || token === undefined) return problem('not_signed');
    return { status: 200, body: jsonText({ 'agent-id': agent, token }) };
  };
  const exercise: Route['act'] = async (call, known) => {
    const claims = await read(call, known, Exercise);
    if (typeof claims === 'string') return agentError(403, claims);
    const { exercise } = claims;
    const type = exercise === 'deletion' ? 'erase' : exercise;
    if (type !== 'erase' && type !== 'access')
      return agentError(400, 'only exercise: deletion and exercise: access are taken here');
    if (claims.email === undefined || claims.email_verified !== true)
      return agentError(400, 'the person is found by a verified address: send email, and email_verified: true');
    const identifier = { kind: 'email', value: claims.email.trim() };
    const request = GivenRequest.safeParse({ type, identifier, identity: 'answered_at_address' });
    if (!request.success || !known.sender.kinds.includes('email')) return agentError(400, 'email is no address');
    const own = claims['agent-request-id'];
    // Without an id of the agent's own, a message is the same request only where it is the same, byte for byte.
    const submitted = await submit(known, own ?? sha256(JSON.stringify(claims)), request.data);
    if ('answer' in submitted) return asAgentError(submitted.answer);
    const { found, receipt } = submitted;
    const status = exerciseStatus({ ...found, state: 'received' }, known.sender, nowMs());
    return {
      status: 200,
      body: jsonText({ ...status, ...(own === undefined ? {} : { agent_request_id: own }), receipt }),
    };
  };
  const getStatus: Route['act'] = async (_call, known, id) => {
    const told = await find(known, id);
    if (!('answer' in told)) return { status: 200, body: jsonText(exerciseStatus(told.found, known.sender, nowMs())) };
    return told.answer.status === 404
      ? agentError(403, 'this agent has made no request of this id')
      : asAgentError(told.answer);
  };
  const getAgent: Route['act'] = (_call, { sender }, agent) =>
    Promise.resolve(
      sender.agent?.id === agent ? { status: 200, body: '{}\n' } : agentError(403, 'this is another agent'),
    );
  const [requests, agent] = [/^\/v1\/data-rights-request\/?$/, /^\/v1\/agent\/([\w.-]{1,200})$/];
  return {
    setUp,
    senderOf: (id) => {
      const sender = byAgent.get(id);
      return sender && { sender, key: '' };
    },
    routes: [
      { path: requests, method: 'POST', profile: 'agent', act: exercise },
      { path: /^\/v1\/data-rights-request\/([0-9a-f-]{36})$/, method: 'GET', profile: 'agent', act: getStatus },
      { path: agent, method: 'POST', profile: 'agent', act: setUp },
      { path: agent, method: 'GET', profile: 'agent', act: getAgent },
    ],
  };
}

/** The status of a request as section 3.03 has it: no more than `statusOf` tells. */
function exerciseStatus(found: Found, { outcome: tells }: Pick<Sender, 'outcome'>, nowMs: number): object {
  const { request, state, received_at, due_at, outcome } = statusOf(found, tells, nowMs);
  const base = { request_id: request, received_at, expected_by: due_at };
  if (state === 'received') return { ...base, status: 'in_progress' };
  if (outcome === 'nothing_held') return { ...base, status: 'denied', reason: 'no_match' };
  if (outcome === 'not_proved') return { ...base, status: 'expired' };
  return outcome === 'cancelled' ? { ...base, status: 'denied', reason: 'other' } : { ...base, status: 'fulfilled' };
}

/** An error as section 3.06 has it. */
function agentError(status: number, message: string): Answer {
  return { status, body: jsonText({ code: String(status), message }) };
}

function asAgentError({ status, body, headers }: Answer): Answer {
  const { detail } = JSON.parse(body) as { detail: string };
  const retry = headers?.['Retry-After'];
  return { ...agentError(status, detail), ...(retry === undefined ? {} : { headers: { 'Retry-After': retry } }) };
}
