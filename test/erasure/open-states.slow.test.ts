import { expect, it } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { readHistories } from '../../src/ledger/histories.ts';
import { readLedger } from '../../src/ledger/ledger.ts';
import { whereIs } from '../../src/erasure/find/where.ts';
import { runReconcileJob } from '../../src/worker/reconcile-job.ts';
import { listRequests } from '../../src/mirror/erasure-requests.ts';
import { openErasureWorld, openKnownWorld, type ErasureWorld } from './erasure-world.ts';
import { answer, type Interceptor } from './upstream/upstream-world.ts';

const name = 'open-states@x.example';
const down: Interceptor = () => Promise.reject(new AppError('no answer', { code: 'unreachable' }));

const last = ({ db }: ErasureWorld) => listRequests(db(), 'all').at(-1);

it('a request that the service gives no answer about says why and since when, and calls for an operator', async () => {
  const world = await openErasureWorld(5);
  await world.sync();
  world.intercept(down);
  const [added] = await world.request([{ kind: 'email', value: 'nobody@x.example' }]);
  expect(added).toMatchObject({ state: 'received', waitsFor: 'service_unreachable' });
  const since = last(world)?.waitsSince;
  expect(await world.reconcile()).toMatchObject({ outcome: 'held', erasure: { attention: 1 } });
  expect(last(world)).toMatchObject({ waitsFor: 'service_unreachable', waitsSince: since });
  world.intercept((_asked, send) => send());
  await world.reconcile();
  expect(last(world)).toMatchObject({ state: 'refused', reason: 'unknown_subject', waitsFor: null, waitsSince: null });
});

it.each([
  [400, 'service_rejects'],
  [409, 'service_rejects'],
  [302, 'service_unusable'],
  [500, 'service_unusable'],
] as const)('a look-up that is answered %d is told, until it is answered', async (status, waitsFor) => {
  const { world, uuid } = await openKnownWorld(name);
  await world.request([{ kind: 'uuid', value: uuid }]);
  world.intercept((asked, send) =>
    /persons\/\d+\//.test(asked.path) && asked.method === 'GET' ? Promise.resolve(answer(status)) : send(),
  );
  expect(await world.reconcile()).toMatchObject({ outcome: 'held', erasure: { attention: 1 } });
  expect(last(world)).toMatchObject({ state: 'locally_verified', waitsFor, waitsSince: expect.any(String) });
  world.intercept((_asked, send) => send());
  await world.reconcile();
  expect(last(world)?.waitsFor).toBeNull();
});

it('somebody who was erased before and asks again is told the earlier request', async () => {
  const { world, uuid } = await openKnownWorld(name);
  const [first] = await world.request([{ kind: 'uuid', value: uuid }]);
  await world.reconcileToTheEnd();
  for (const given of [{ kind: 'uuid', value: uuid } as const, { kind: 'distinct_id', value: name } as const])
    expect(await world.request([given])).toMatchObject([
      { state: 'refused', reason: 'already_erased', erasedBy: first?.id },
    ]);
  for (const value of [uuid, 'canary-nobody']) {
    const given = value === uuid ? ({ kind: 'uuid', value } as const) : ({ kind: 'distinct_id', value } as const);
    const { whereabouts } = await world.look((context) => whereIs(context, [given]));
    expect(whereabouts).toMatchObject({ places: [], erasedBy: value === uuid ? first?.id : null });
  }
});

it('a fenced request says that it waits for a service where none is configured', async () => {
  const { world, uuid } = await openKnownWorld(name);
  await world.request([{ kind: 'uuid', value: uuid }]);
  const result = await world.look((context) => runReconcileJob({ ...context, service: null }, undefined));
  expect(result).toMatchObject({ outcome: 'held', erasure: { verified: 1, attention: 1 } });
  expect(last(world)).toMatchObject({ state: 'locally_verified', waitsFor: 'no_service' });
  await world.reconcile();
  expect(last(world)?.waitsFor).toBeNull();
});

it.each([
  ['created_at', 'yesterday'],
  ['distinct_ids', [`${name}\ud800`]],
])('a person whose %s cannot be read is deleted at the service all the same', async (field, value) => {
  const { world, uuid } = await openKnownWorld(name);
  await world.request([{ kind: 'uuid', value: uuid }]);
  world.intercept(async (asked, send) => {
    const shown = await send();
    if (asked.method !== 'GET' || !/persons\/\d+\//.test(asked.path) || shown.status !== 200) return shown;
    return {
      ...shown,
      bytes: Buffer.from(JSON.stringify({ ...(JSON.parse(shown.bytes.toString()) as object), [field]: value })),
    };
  });
  await world.reconcile();
  expect(world.living()).not.toContain(uuid);
  expect(last(world)).toMatchObject({ state: 'awaiting_upstream', reason: null });
});

it('a reconciliation that fails says what it did before', async () => {
  const { world, uuid } = await openKnownWorld(name);
  await world.request([{ kind: 'uuid', value: uuid }]);
  world.intercept((asked, send) => (asked.method === 'DELETE' ? Promise.resolve(answer(401)) : send()));
  const failure = await world.reconcile().catch((error: unknown) => error);
  expect(failure).toMatchObject({
    code: 'refused',
    hint: expect.stringMatching(
      /before it failed, this run did: 1 request fenced .*; 1 request proved gone from here$/,
    ),
  });
  const again = await world.reconcile().catch((error: unknown) => error);
  expect((again as AppError).hint).not.toContain('before it failed');
});

it('a restored copy keeps the times and the origin that the ledger has', async () => {
  const { world, uuid } = await openKnownWorld(name);
  world.backUp();
  await world.request([{ kind: 'uuid', value: uuid }]);
  const { receivedAt, dueAt } = last(world) ?? {};
  await world.reconcile();
  world.pass(3);
  world.restore();
  await world.reconcile();
  expect(last(world)).toMatchObject({ origin: 'manual', basis: 'objection', dueAt });
  const history = readHistories(readLedger(world.dataDir).entries()).of(last(world)?.id ?? '');
  expect(last(world)?.receivedAt).toBe(history?.received.at);
  expect(receivedAt?.slice(0, 16)).toBe(history?.received.at.slice(0, 16));
});

it('an absent row that the service always fails at keeps nobody from being erased there', async () => {
  const { world, uuid } = await openKnownWorld(name);
  const absent = [...world.sandbox.living()].find((person) => person.uuid !== uuid);
  await world.request([{ kind: 'uuid', value: uuid }]);
  world.intercept((asked, send) =>
    asked.path.includes(`/persons/${absent?.id}/`) ? Promise.resolve(answer(500)) : send(),
  );
  world.sandbox.act({ do: 'delete', uuid: absent?.uuid ?? '' });
  await expect(world.sync()).rejects.toMatchObject({ status: 500 });
  await expect(world.reconcile()).rejects.toMatchObject({ status: 500 });
  expect(world.living()).not.toContain(uuid);
  expect(last(world)?.state).toBe('awaiting_upstream');
});
