import { generateKeyPairSync, randomUUID, sign, type KeyObject } from 'node:crypto';
import { expect, it } from 'vitest';
import { isoTime } from '../../src/core/clock.ts';
import { endAccess } from '../../src/erasure/access.ts';
import { boxDetailsOf } from '../../src/erasure/request/box.ts';
import { listRequests } from '../../src/mirror/erasure-requests.ts';
import { callIntake, digestOf, openIntakeWorld, senderOf, step, tokensOf, type IntakeWorld } from './intake-world.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const other = generateKeyPairSync('ed25519');
const rawOf = (key: KeyObject): string => key.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64');
const minuteMs = 60_000;

const agentOf = (name: string, id: string, key: KeyObject, more = {}) => {
  const sender = senderOf({ name, keys: [], agent: { id, verifyKey: rawOf(key) }, kinds: ['email'], ...more });
  return { ...sender, keys: [...tokensOf([sender]).values()].map(digestOf) };
};
const slip = agentOf('slip', 'PERMISSION_SLIP', publicKey);
const second = agentOf('second', 'SECOND', other.publicKey, { outcome: true });
const token = tokensOf([slip]).get('PERMISSION_SLIP') ?? '';

/** A message as libsodium's combined mode makes it. */
const signed = (claims: object | string, key = privateKey): string => {
  const bytes = Buffer.from(typeof claims === 'string' ? claims : JSON.stringify(claims));
  return Buffer.concat([sign(null, bytes, key), bytes]).toString('base64');
};
const open = (): Promise<IntakeWorld> => openIntakeWorld([slip, second, senderOf()]);
const claimsAt = ({ clock }: IntakeWorld, more: object = {}): object => ({
  'agent-id': 'PERMISSION_SLIP',
  'business-id': 'SHOP',
  'issued-at': isoTime(clock.nowMs),
  'expires-at': isoTime(clock.nowMs + 10 * minuteMs),
  'drp.version': '1.0',
  ...more,
});
const asking = {
  exercise: 'deletion',
  regime: 'ccpa',
  name: 'Ann Lee',
  email: 'ann@canary.example',
  email_verified: true,
};
const send = (world: IntakeWorld, body: string, key = token, path = '/v1/data-rights-request') =>
  callIntake(world.url(), path, { body, key, headers: { 'content-type': 'text/plain' } });

it('an agent gets its key by a signed message, makes a request, and sees how far it is', async () => {
  const world = await open();
  const setUp = await send(world, signed(claimsAt(world)), '', '/v1/agent/PERMISSION_SLIP');
  expect(setUp).toMatchObject({ status: 200, body: { 'agent-id': 'PERMISSION_SLIP', token } });
  expect(await callIntake(world.url(), '/v1/agent/PERMISSION_SLIP', { method: 'GET', key: token })).toMatchObject({
    status: 200,
    body: {},
  });
  expect(await callIntake(world.url(), '/v1/agent/SECOND', { method: 'GET', key: token })).toMatchObject({
    status: 403,
  });
  const own = randomUUID();
  const made = await send(world, signed(claimsAt(world, { ...asking, 'agent-request-id': own })));
  expect(made).toMatchObject({ status: 200, body: { status: 'in_progress', agent_request_id: own } });
  const id = String(made.body['request_id']);
  expect(made.body['receipt']).toMatchObject({ request: id });
  expect(boxDetailsOf(world.context(), id)?.given).toEqual([{ kind: 'email', value: 'ann@canary.example' }]);
  expect(listRequests(world.db(), 'open')).toMatchObject([{ authorisedBy: 'slip' }]);
  const shown = await callIntake(world.url(), `/v1/data-rights-request/${id}`, { method: 'GET', key: token });
  expect(shown).toMatchObject({ status: 200, body: { request_id: id, status: 'in_progress' } });
  const secondToken = tokensOf([second]).get('SECOND') ?? '';
  for (const [path, key, status] of [
    [`/v1/data-rights-request/${id}`, secondToken, 403],
    [`/v1/requests/${id}`, token, 401],
    [`/v1/data-rights-request/${id}`, 'k'.repeat(43), 401],
  ] as const)
    expect(await callIntake(world.url(), path, { method: 'GET', key })).toMatchObject({ status });
});

it('access is asked for as well, and fulfilled once it was answered', async () => {
  const world = await open();
  const claims = claimsAt(world, { ...asking, exercise: 'access', 'agent-id': 'SECOND' });
  const token = tokensOf([second]).get('SECOND') ?? '';
  const made = await send(world, signed(claims, other.privateKey), token);
  const id = String(made.body['request_id']);
  expect(made).toMatchObject({ status: 200, body: { status: 'in_progress', receipt: { request: id } } });
  expect(listRequests(world.db(), 'open', 'access')).toMatchObject([{ id, authorisedBy: 'second' }]);
  await step(world, (job) => endAccess(job, id, 'answered'));
  const shown = await callIntake(world.url(), `/v1/data-rights-request/${id}`, { method: 'GET', key: token });
  expect(shown.body).toMatchObject({ status: 'fulfilled' });
});

it('the same agent-request-id is one request, signed anew; without one, the same message is', async () => {
  const world = await open();
  const own = { ...asking, 'agent-request-id': 'ours-1' };
  const first = await send(world, signed(claimsAt(world, own)));
  world.clock.nowMs += minuteMs;
  const again = await send(world, signed(claimsAt(world, own)), token, '/v1/data-rights-request/');
  expect(again.body).toEqual(first.body);
  const message = signed(claimsAt(world, asking));
  const [one, two] = [await send(world, message), await send(world, message)];
  expect(two.body).toEqual(one.body);
  expect(listRequests(world.db(), 'all')).toHaveLength(2);
  const changed = await send(world, signed(claimsAt(world, { ...own, email: 'bob@canary.example' })));
  expect(changed).toMatchObject({ status: 409, body: { code: '409' } });
});

it.for([
  ['another key', (world: IntakeWorld) => signed(claimsAt(world, asking), other.privateKey), 403],
  ['a changed message', (world: IntakeWorld) => signed(claimsAt(world, asking)).replace(/.{4}$/, 'AAAA'), 403],
  ['no base64', (world: IntakeWorld) => JSON.stringify(claimsAt(world, asking)), 403],
  ['nothing', () => ' ', 403],
  ['another agent', (world: IntakeWorld) => signed(claimsAt(world, { ...asking, 'agent-id': 'SECOND' })), 403],
  ['another business', (world: IntakeWorld) => signed(claimsAt(world, { ...asking, 'business-id': 'OTHER' })), 403],
  [
    'a clock that is ahead',
    (world: IntakeWorld) => signed(claimsAt(world, { ...asking, 'issued-at': isoTime(world.clock.nowMs + minuteMs) })),
    403,
  ],
  [
    'a message from before',
    (world: IntakeWorld) => signed(claimsAt(world, { ...asking, 'expires-at': isoTime(world.clock.nowMs) })),
    403,
  ],
  [
    'a time without a zone',
    (world: IntakeWorld) => signed(claimsAt(world, { ...asking, 'issued-at': '2026-01-01T00:00:00' })),
    403,
  ],
  [
    'a claim that stands twice',
    (world: IntakeWorld) => signed(JSON.stringify(claimsAt(world, asking)).replace('{', '{"agent-id":"SECOND",')),
    403,
  ],
  ['a sale', (world: IntakeWorld) => signed(claimsAt(world, { ...asking, exercise: 'sale:opt_out' })), 400],
  [
    'an address that was not verified',
    (world: IntakeWorld) => signed(claimsAt(world, { ...asking, email_verified: false })),
    400,
  ],
  ['no address', (world: IntakeWorld) => signed(claimsAt(world, { ...asking, email: 'ann' })), 400],
] as const)('a message is refused for %s, and nothing is received', async ([, make, status]) => {
  const world = await open();
  const { body, status: found, text } = await send(world, make(world));
  expect([found, body['code']]).toEqual([status, String(status)]);
  expect(text).not.toContain('canary');
  expect(listRequests(world.db(), 'all')).toEqual([]);
});

it('a message may count for weeks, and need not name its version', async () => {
  const world = await open();
  const inWeeks = { 'expires-at': isoTime(world.clock.nowMs + 45 * 1440 * minuteMs), 'drp.version': undefined };
  const message = signed(claimsAt(world, { ...asking, ...inWeeks }));
  const made = await send(world, message);
  expect(made.status).toBe(200);
  world.clock.nowMs += 40 * 1440 * minuteMs;
  expect((await send(world, message)).body).toEqual(made.body);
});

it('a key is given for the message of its own agent only', async () => {
  const world = await open();
  const setUp = (agent: string, body: string) => send(world, body, '', `/v1/agent/${agent}`);
  const message = signed(claimsAt(world));
  for (const [agent, body] of [
    ['SECOND', message],
    ['NOBODY', message],
    ['PERMISSION_SLIP', signed(claimsAt(world), other.privateKey)],
    ['PERMISSION_SLIP', signed(claimsAt(world, { 'expires-at': isoTime(world.clock.nowMs - 1) }))],
  ] as const)
    expect((await setUp(agent, body)).status).toBe(403);
});

it('whoever asks for keys in the name of an agent takes nothing of what the agent may ask', async () => {
  const world = await open();
  const foreign = signed(claimsAt(world), other.privateKey);
  const told = [];
  for (let count = 0; count < 205; count += 1)
    told.push((await send(world, foreign, '', '/v1/agent/PERMISSION_SLIP')).status);
  expect(new Set(told)).toEqual(new Set([403, 429]));
  expect((await send(world, signed(claimsAt(world, asking)))).status).toBe(200);
});
