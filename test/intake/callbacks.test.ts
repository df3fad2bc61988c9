import { createHmac, randomUUID } from 'node:crypto';
import { mkdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createCallbacks, planCalls, signatureOf, type Callbacks, type Message } from '../../src/intake/callbacks.ts';
import { nobody } from '../../src/contract/identity.ts';
import { cancelRequest, receive as receiveByHand } from '../../src/erasure/receive.ts';
import { newBox } from '../../src/erasure/request/box.ts';
import { readProjectState } from '../../src/worker/read-project.ts';
import { settingsWith } from '../config/settings-with.ts';
import { eraseBody, openIntakeWorld, senderOf, step, type IntakeWorld } from './intake-world.ts';

const secret = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');

it('a call is signed as the example of Standard Webhooks is', () => {
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', about: null, body: '{"test": 2432232314}' };
  expect(signatureOf(secret, message, 1_614_265_330_000)).toEqual({
    'webhook-id': message.id,
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

/** Callbacks of a world's one project, and what was sent. */
function callbacksOf(world: IntakeWorld, outcome: boolean) {
  const sent: { id: string; type: unknown; data: unknown }[] = [];
  let isDown = false;
  let unwanted: string | undefined;
  let during: (() => Promise<unknown>) | undefined;
  const errors: unknown[] = [];
  const open = () =>
    createCallbacks({
      context: () => world.context(),
      clock: world.clock,
      senders: [{ name: 'privacy-desk', outcome, url: 'https://desk.example.com', secret }],
      send: async (to, message, headers) => {
        await during?.();
        if (isDown || (unwanted !== undefined && message.body.includes(unwanted))) throw new Error('no');
        const text = `${message.id}.${headers['webhook-timestamp']}.${message.body}`;
        const own = createHmac('sha256', to.secret).update(text).digest('base64');
        expect(headers['webhook-signature']).toBe(`v1,${own}`);
        sent.push({ id: message.id, ...(JSON.parse(message.body) as { type: unknown; data: unknown }) });
      },
      onError: (error) => errors.push(error),
    });
  const refuse = (what: string | undefined): void => {
    unwanted = what;
  };
  const meanwhile = (does: typeof during): void => {
    during = does;
  };
  return { sent, errors, open, refuse, meanwhile, setDown: (down: boolean) => (isDown = down) };
}

/** Receives a request of a sender, as the intake does. */
async function receive(world: IntakeWorld, callbacks: Callbacks, who: string): Promise<string> {
  const { body } = await world.post(eraseBody(`${who}@canary.example`));
  await callbacks.note('privacy-desk', String(body['request']));
  return String(body['request']);
}

it('a sender is told once of each state, also after a restart, a receiver that was away, and an end before the first look', async () => {
  const world = await openIntakeWorld();
  const { sent, errors, open, setDown } = callbacksOf(world, true);
  await open().look();
  const first = await receive(world, open(), 'ann');
  setDown(true);
  await open().look();
  expect([sent.length, errors.length]).toEqual([0, 1]);
  setDown(false);
  await open().look();
  await open().look();
  expect(sent).toMatchObject([{ type: 'request.received', data: { request: first, state: 'received' } }]);
  const last = open();
  const second = await receive(world, last, 'bob');
  await step(world, (job) => {
    for (const id of [first, second]) cancelRequest(job, id);
  });
  await last.look();
  await open().look();
  expect(sent.slice(1).map(({ type }) => type)).toEqual(['request.received', 'request.closed', 'request.closed']);
  expect(sent.at(-1)).toMatchObject({ data: { state: 'closed', outcome: 'cancelled' } });
  expect(new Set(sent.map(({ id }) => id)).size).toBe(4);
});

it.each(['a receiver that is away', 'a restart before the first look'])(
  'a sender is told of a request that has ended over a restart, after %s',
  async (what) => {
    const world = await openIntakeWorld();
    const { sent, open, setDown } = callbacksOf(world, true);
    const first = open();
    const ids = await Promise.all(['ann', 'bob'].map((who) => receive(world, first, who)));
    setDown(true);
    if (what.startsWith('a receiver')) await first.look();
    await step(world, (job) => {
      for (const id of ids) cancelRequest(job, id);
    });
    await open().look();
    expect(sent).toEqual([]);
    setDown(false);
    await open().look();
    await open().look();
    expect(sent.map(({ type, data }) => [type, (data as { request: string }).request])).toEqual(
      ids.flatMap((id) => [
        ['request.received', id],
        ['request.closed', id],
      ]),
    );
  },
);

it('a request that is received while a call goes on is kept', async () => {
  const world = await openIntakeWorld();
  const { sent, open, meanwhile } = callbacksOf(world, true);
  const first = open();
  await receive(world, first, 'ann');
  let second = '';
  meanwhile(async () => {
    meanwhile(undefined);
    second = await receive(world, first, 'bob');
  });
  await first.look();
  await step(world, (job) => cancelRequest(job, second));
  await open().look();
  expect(sent.map(({ type }) => type)).toEqual(['request.received', 'request.received', 'request.closed']);
  expect(sent.at(-1)).toMatchObject({ data: { request: second } });
});

it('what cannot be kept is no receipt, and is told to its sender at a later look all the same', async () => {
  const world = await openIntakeWorld();
  const { sent, errors, open } = callbacksOf(world, true);
  const { body } = await world.post(eraseBody('ann@canary.example'));
  const file = join(world.dataDir, 'callbacks.json');
  mkdirSync(file);
  const callbacks = open();
  await expect(callbacks.note('privacy-desk', String(body['request']))).rejects.toThrow('EISDIR');
  await step(world, (job) => cancelRequest(job, String(body['request'])));
  expect([sent, errors]).toEqual([[], []]);
  rmdirSync(file);
  writeFileSync(file, '{');
  await expect(callbacks.note('privacy-desk', String(body['request']))).rejects.toThrow(
    expect.objectContaining({ code: 'storage', message: `${file} is damaged` }),
  );
  rmSync(file);
  await callbacks.look();
  expect(sent.map(({ type }) => type)).toEqual(['request.received', 'request.closed']);
});

it.each(['privacy-desk', 'privacy-desk/TICKET-1'])(
  "a sender is told nothing of an operator's request, erase add --by %s",
  async (by) => {
    const world = await openIntakeWorld();
    const { sent, open } = callbacksOf(world, true);
    const callbacks = open();
    const authority = { basis: 'objection', by, deleteEvents: true };
    const box = newBox([{ kind: 'email', value: 'zed@canary.example' }], nobody);
    await step(world, (job) => receiveByHand(job, 'manual', box, authority));
    const own = await receive(world, callbacks, 'ann');
    await callbacks.look();
    await open().look();
    expect(sent.map(({ type, data }) => [type, (data as { request: string }).request])).toEqual([
      ['request.received', own],
    ]);
  },
);

it('after a failure a sender is left alone for a while, each time longer', async () => {
  const world = await openIntakeWorld();
  const { sent, errors, open, setDown } = callbacksOf(world, false);
  const callbacks = open();
  await receive(world, callbacks, 'ann');
  setDown(true);
  for (const seconds of [0, 4, 2, 4, 5, 2]) {
    world.clock.nowMs += seconds * 1000;
    await callbacks.look();
  }
  expect(errors).toHaveLength(3);
  setDown(false);
  world.clock.nowMs += 600_000;
  await callbacks.look();
  expect(sent).toHaveLength(1);
});

it('a clock that is set back leaves no sender alone for longer', async () => {
  const world = await openIntakeWorld();
  const { sent, open, setDown } = callbacksOf(world, true);
  const callbacks = open();
  await receive(world, callbacks, 'ann');
  setDown(true);
  await callbacks.look();
  setDown(false);
  world.clock.nowMs -= 86_400_000;
  await callbacks.look();
  expect(sent).toHaveLength(1);
});

it('a call that its receiver refuses keeps no other from it, and is sent again', async () => {
  const world = await openIntakeWorld();
  const { sent, errors, open, refuse } = callbacksOf(world, true);
  const callbacks = open();
  const requests: string[] = [];
  for (const who of ['ann', 'bob', 'cec']) requests.push(await receive(world, callbacks, who));
  refuse(requests[0]);
  for (const _look of [1, 2]) {
    await callbacks.look();
    world.clock.nowMs += 600_000;
  }
  const about = (): unknown[] => sent.map(({ data }) => (data as { request: string }).request);
  expect([about(), errors.length]).toEqual([requests.slice(1), 2]);
  refuse(undefined);
  await callbacks.look();
  await open().look();
  expect(about()).toEqual([...requests.slice(1), requests[0]]);
});

it('a publication is told once, and the one from before the first look is not', () => {
  const to = { name: 'desk', outcome: true };
  const facts = { requests: [], nowMs: 0, snapshots: [{ dataset: 'persons', snapshot_id: '20260101T000000.000Z' }] };
  const first = planCalls(to, { open: [], published: null }, facts);
  expect(first.messages).toEqual([]);
  expect(planCalls(to, first.told, facts).messages).toEqual([]);
  const next = { ...facts, snapshots: [{ dataset: 'persons', snapshot_id: '20260102T000000.000Z' }] };
  const second = planCalls(to, first.told, next);
  const typeOf = ({ body }: Message): unknown => JSON.parse(body) as unknown;
  expect(second.messages.map(typeOf)).toMatchObject([
    { type: 'snapshots.published', data: { snapshots: next.snapshots } },
  ]);
  expect(planCalls(to, second.told, next).messages).toEqual([]);
  // What was published after an erasure tells whether there was anybody.
  expect(planCalls({ ...to, outcome: false }, first.told, next)).toEqual({ messages: [], told: second.told });
});

it('a request that an older mirror does not have is not forgotten', () => {
  const told = { open: ['r1'], published: 'x' };
  const facts = { requests: [], snapshots: [], nowMs: 0 };
  expect(planCalls({ name: 'desk', outcome: true }, told, facts).told.open).toEqual(['r1']);
});

it('a sender that accepts no call for an hour is an alert until it does, also over a restart; so is a damaged callbacks.json', async () => {
  const world = await openIntakeWorld();
  const { open, setDown } = callbacksOf(world, false);
  const sender = senderOf({ callback: { url: 'https://desk.example.com', secretFile: 'secret' } });
  const settings = settingsWith({ dataDir: world.dataDir, 'intake.port': 8791, 'intake.senders': [sender] });
  const alerts = (given = settings) =>
    readProjectState(world.db(), { name: 'default', settings: given, keyFrom: '' }, world.clock.nowMs).alerts.filter(
      ({ kind }) => kind === 'uncalled',
    ).length;
  await receive(world, open(), 'ann');
  setDown(true);
  // The clock is ahead for a while.
  world.clock.nowMs += 86_400_000;
  await open().look();
  world.clock.nowMs -= 86_400_000;
  await open().look();
  expect(alerts()).toBe(0);
  world.clock.nowMs += 1_800_000;
  await open().look();
  world.clock.nowMs += 1_801_000;
  expect(alerts()).toBe(1);
  // It is called back no more.
  expect(alerts(settingsWith({ dataDir: world.dataDir }))).toBe(0);
  setDown(false);
  await open().look();
  expect(alerts()).toBe(0);
  writeFileSync(join(world.dataDir, 'callbacks.json'), '{');
  expect(alerts()).toBe(1);
});

it('a sender that takes long to accept a call holds up no other one', async () => {
  const world = await openIntakeWorld();
  const sent: string[] = [];
  const slow = Promise.withResolvers<undefined>();
  const callbacks = createCallbacks({
    context: () => world.context(),
    clock: world.clock,
    senders: ['slow-desk', 'quick-desk'].map((name) => ({ name, outcome: false, url: 'https://desk.example', secret })),
    send: async (to) => {
      if (to.name === 'slow-desk') await slow.promise;
      sent.push(to.name);
    },
    onError: (error) => {
      throw error;
    },
  });
  const { body } = await world.post(eraseBody('ann@canary.example'));
  for (const name of ['slow-desk', 'quick-desk']) await callbacks.note(name, String(body['request']));
  const looks = [callbacks.look(), callbacks.look()];
  await expect.poll(() => sent).toEqual(['quick-desk']);
  slow.resolve(undefined);
  await Promise.all(looks);
  expect(sent).toEqual(['quick-desk', 'slow-desk']);
});

it('requests that have not ended cost a look next to nothing', async () => {
  const world = await openIntakeWorld();
  const { errors, open } = callbacksOf(world, false);
  const ids = Array.from({ length: 40_000 }, () => randomUUID());
  const told = { 'privacy-desk': { open: ids, published: null, noted: [] } };
  writeFileSync(join(world.dataDir, 'callbacks.json'), JSON.stringify(told));
  const callbacks = open();
  await callbacks.look();
  const before = process.cpuUsage();
  await callbacks.look();
  expect(errors).toEqual([]);
  expect(process.cpuUsage(before).user).toBeLessThan(700_000);
});
