import { expect, it } from 'vitest';
import { gatherReport } from '../../src/audit/report-data.ts';
import { readClockStanding } from '../../src/job/clock-standing.ts';
import { listRequests } from '../../src/mirror/erasure-requests.ts';
import { listTargets } from '../../src/mirror/erasure-targets.ts';
import { readDeletionFeed } from '../../src/mirror/feeds.ts';
import { readProjectCondition } from '../../src/worker/read-project.ts';
import { answer } from './upstream/upstream-world.ts';
import { openErasureWorld, type ErasureWorld } from './erasure-world.ts';

async function openWorld(
  more: Parameters<typeof openErasureWorld>[1] = [],
): Promise<{ world: ErasureWorld; uuid: string; other: string }> {
  const world = await openErasureWorld(5, [
    { path: 'deletions.confirmations', value: 2 },
    { path: 'deletions.confirmAfterSeconds', value: 300 },
    { path: 'deletions.maxShare', value: 1 },
    ...more,
  ]);
  const [uuid = '', other = ''] = ['clock-canary@x.example', 'clock-other@x.example'].map((email) =>
    world.create([email], { email }),
  );
  await world.sync();
  return { world, uuid, other };
}

const requests = (world: ErasureWorld) => listRequests(world.db(), 'all');
const givenUp = (world: ErasureWorld): number =>
  readProjectCondition(world.db(), { name: 'shop', ...world.settings }, world.clock.now()).givenUpRequests;
const reported = (world: ErasureWorld) =>
  gatherReport({ db: world.db(), settings: world.settings, nowMs: world.clock.now() }).totals;
const isHere = (world: ErasureWorld, uuid: string): boolean =>
  world.db().prepare(`SELECT 1 FROM persons WHERE uuid = ?`).get(uuid) !== undefined;

it.each([50, -50])('a wait that a clock %i days ahead has set begins anew, and is as long as it was', async (days) => {
  const { world, uuid } = await openWorld();
  await world.request([{ kind: 'uuid', value: uuid }]);
  world.setAhead(days);
  await world.reconcile();
  world.setAhead(0);
  const personOf = () =>
    listTargets(world.db(), requests(world)[0]?.id ?? '').find(({ target }) => target === 'upstream.person');
  await world.reconcile();
  expect(personOf()?.status).toBe('waiting');
  world.pass(1);
  await world.reconcile();
  expect(personOf()).toMatchObject({ status: 'done', result: 'deleted' });
});

it.each([50, -50])(
  'two answers a minute apart are no confirmation, by a clock that is %i days ahead at one of them',
  async (days) => {
    for (const wrongAt of ['first', 'second']) {
      const { world, uuid } = await openWorld();
      world.sandbox.act({ do: 'delete', uuid });
      await world.sync();
      if (wrongAt === 'first') world.setAhead(days);
      await world.reconcile();
      world.setAhead(wrongAt === 'second' ? days : 0);
      await world.reconcile();
      expect(isHere(world, uuid)).toBe(true);
      world.setAhead(0);
      world.pass(1);
      await world.reconcile();
      world.pass(1);
      await world.reconcile();
      expect(isHere(world, uuid)).toBe(false);
    }
  },
);

it('one run 70 days ahead ends no life and empties no feed; the clocks are told to be apart', async () => {
  const { world, uuid, other } = await openWorld();
  await world.request([{ kind: 'uuid', value: other }]);
  await world.reconcile();
  const rows = readDeletionFeed(world.db()).rows;
  world.intercept(({ method }, send) => (method === 'GET' ? send() : Promise.reject(new Error('refused'))));
  await world.request([{ kind: 'uuid', value: uuid }]);
  world.setAhead(70);
  expect(await world.reconcile().catch(() => undefined)).not.toMatchObject({ erasure: { cancelled: 1 } });
  expect(requests(world).some(({ state }) => state === 'cancelled' || state === 'sealed')).toBe(false);
  expect(readDeletionFeed(world.db()).rows).toBeGreaterThanOrEqual(rows);
  const { problem } = readClockStanding(world.db(), world.dataDir, world.clock.now());
  expect(problem).toBe("this machine's clock is 70 days ahead of the service's");
});

it('a request that came under a clock of 1970 lives as long as any other', async () => {
  const { world, uuid } = await openWorld();
  world.setAhead(-20_000);
  await world.request([{ kind: 'uuid', value: uuid }]);
  world.setAhead(0);
  world.db().prepare(`UPDATE erasure_requests SET received_at = '1970-01-02T00:00:00.000Z'`).run();
  await world.reconcile();
  expect(requests(world)).toMatchObject([{ state: 'locally_verified', reason: null }]);
});

it('a request that waits for approval until its time is over is cancelled, and not held: the person is still here', async () => {
  const { world, uuid } = await openWorld([{ path: 'erasure.maxBatch', value: 1 }]);
  await world.request([{ kind: 'uuid', value: uuid }]);
  await world.request([{ kind: 'distinct_id', value: 'clock-other@x.example' }]);
  expect(await world.reconcile()).toMatchObject({ outcome: 'held', erasure: { held: 2, attention: 0, cancelled: 0 } });
  world.pass(60);
  expect(await world.reconcile()).toMatchObject({ outcome: 'held', erasure: { held: 0, attention: 0, cancelled: 2 } });
  expect(isHere(world, uuid)).toBe(true);
  expect(await world.reconcile()).toMatchObject({ outcome: 'done', erasure: { cancelled: 0 } });
  expect(givenUp(world)).toBe(2);
  expect(reported(world)).toMatchObject({ cancelled: 2, late: 2, complete: 0 });
  world.pass(8);
  expect(givenUp(world)).toBe(0);
});

it.each([
  ['the question what it can do', 'not_verifiable'],
  ['the deletion', 'still_present'],
])('a request is called given up whose time is over while the service refuses %s', async (what, result) => {
  const { world, uuid } = await openWorld();
  world.intercept(({ method, path }, send) => {
    const isRefused = what === 'the deletion' ? method === 'DELETE' : path.includes('bulk_delete');
    return isRefused ? Promise.resolve(answer(what === 'the deletion' ? 500 : 403)) : send();
  });
  await world.request([{ kind: 'uuid', value: uuid }]);
  await world.reconcile().catch(() => undefined);
  world.pass(60);
  expect(givenUp(world)).toBe(0);
  await world.reconcile().catch(() => undefined);
  const [{ id, state } = { id: '', state: null }] = requests(world);
  expect(state).toBe('sealed');
  const person = { target: 'upstream.person', result };
  expect(listTargets(world.db(), id)).toContainEqual(expect.objectContaining(person));
  expect(givenUp(world)).toBe(1);
  expect(reported(world)).toMatchObject({ complete: 0, unproved: 1 });
});
