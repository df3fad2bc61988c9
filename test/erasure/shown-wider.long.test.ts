import { expect, it } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { approveRequest } from '../../src/erasure/receive.ts';
import { readLedger } from '../../src/ledger/ledger.ts';
import { fencedBy } from '../../src/mirror/fence.ts';
import { openErasureWorld } from './erasure-world.ts';

it('a person is fenced with what a merge has brought while the service was down, before it is deleted there', async () => {
  const world = await openErasureWorld(5);
  const [loser, survivor] = [world.create(['loser']), world.create(['survivor'])];
  await world.sync();
  world.sandbox.act({ do: 'merge', loser, survivor });
  world.intercept(() => Promise.reject(new AppError('down', { code: 'unreachable' })));
  const [added] = await world.request([{ kind: 'uuid', value: survivor }]);
  await expect(world.reconcile()).rejects.toMatchObject({ code: 'unreachable' });
  const isFenced = (id: string): boolean =>
    fencedBy(world.db(), [{ kind: 'distinct_id', value: id }]).includes(added?.id ?? '');
  expect([isFenced('survivor'), isFenced('loser')]).toEqual([true, false]);
  world.intercept((_asked, send) => send());
  await world.reconcile();
  expect(readLedger(world.dataDir).histories.of(added?.id ?? '')).toMatchObject({
    generation: 2,
    reopened: { reason: 'shown_wider' },
  });
  expect(world.living()).toContain(survivor);
  await world.reconcile();
  expect([isFenced('survivor'), isFenced('loser')]).toEqual([true, true]);
  expect(world.living()).not.toContain(survivor);
});

it('also where an operator has left a distinct id of the person to somebody else', async () => {
  const world = await openErasureWorld(5);
  const [loser, survivor] = [world.create(['loser']), world.create(['survivor', 'left'])];
  await world.sync();
  world.sandbox.act({ do: 'split', uuid: survivor });
  const [added] = await world.request([{ kind: 'uuid', value: survivor }]);
  await world.reconcile();
  await world.erase((job) => approveRequest(job, added?.id ?? ''));
  world.sandbox.act({ do: 'merge', loser, survivor });
  for (let round = 0; round < 2; round += 1) await world.reconcile();
  expect(fencedBy(world.db(), [{ kind: 'distinct_id', value: 'loser' }])).toEqual([added?.id]);
  expect(world.living()).not.toContain(survivor);
});

it('a person with more distinct ids than a list or a batch shows is fenced with all of them', async () => {
  const world = await openErasureWorld(5, [], { profile: 'live' });
  const distinctIds = Array.from({ length: 1500 }, (_each, index) => `many-${index}`);
  const uuid = world.create(distinctIds, { email: 'many@x.example' });
  await world.sync();
  const [added] = await world.request([{ kind: 'email', value: 'many@x.example' }]);
  for (let round = 0; round < 3; round += 1) await world.reconcile();
  const fenced = distinctIds.filter((value) => fencedBy(world.db(), [{ kind: 'distinct_id', value }]).length > 0);
  expect(fenced).toHaveLength(1500);
  expect(world.living()).not.toContain(uuid);
  expect(added?.state).toBe('scoped');
});
