import { expect, it, onTestFinished } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { openSyncWorld, wronglyDeleted, type SyncWorld } from './sync-world.ts';

const many = [
  { path: 'deletions.maxShare', value: 1 },
  { path: 'deletions.maxCount', value: 100_000 },
  { path: 'persons.pageSize', value: 500 },
];

/** A world in which so many of the persons are gone since they were mirrored, and some were merged. */
async function worldWithout(gone: number, merged: number, options: Partial<SandboxOptions>): Promise<SyncWorld> {
  const world = await openSyncWorld({ persons: gone + 2 * merged + 300, seed: 3, ...options }, many);
  onTestFinished(() => world.close());
  await world.sync();
  const people = [...world.sandbox.living()].map(({ uuid }) => uuid);
  for (const uuid of people.slice(0, gone)) world.sandbox.act({ do: 'delete', uuid });
  for (let pair = 0; pair < merged; pair += 1) {
    const [loser = '', survivor = ''] = people.slice(gone + 2 * pair);
    world.sandbox.act({ do: 'merge', loser, survivor });
  }
  expect(await world.sync()).toMatchObject({ verdict: 'complete' });
  world.sandbox.clearRequests();
  return world;
}

/** What a reconciliation came to, and how many requests it made. */
async function reconcile(world: SyncWorld) {
  world.sandbox.clearRequests();
  const { asked, alive, deleted, merged, waiting } = await world.reconcile();
  return { asked, alive, deleted, merged, waiting, requests: world.sandbox.requests().length };
}

it('asks for two thousand absent persons in some twenty requests, and decides in fifty', async () => {
  const world = await worldWithout(1990, 10, { profile: 'live' });
  const first = await reconcile(world);
  expect(first).toMatchObject({ asked: 2000, alive: 0, waiting: 2000 });
  expect(first.requests).toBeLessThanOrEqual(Math.ceil(2000 / 200) + 5);
  const second = await reconcile(world);
  expect(second).toMatchObject({ asked: 2000, deleted: 1990, merged: 10 });
  expect(second.requests).toBeLessThanOrEqual(4 * Math.ceil(2000 / 200) + 10);
  expect(wronglyDeleted(world)).toBe(0);
});

it.each([
  ['live, without batches', { profile: 'live', live: { personBatches: false } }],
  ['documented', { profile: 'documented' }],
] as const)('asks for each person where the service is %s', async (_what, options) => {
  const world = await worldWithout(48, 2, options);
  expect(await reconcile(world)).toMatchObject({ asked: 50, waiting: 50 });
  const { requests } = await reconcile(world);
  expect(requests).toBeGreaterThan(100);
  expect(world.deleted()).toHaveLength(50);
  expect(wronglyDeleted(world)).toBe(0);
  // It is asked once whether it can.
  const probes = world.sandbox.requests().filter(({ endpoint }) => endpoint.includes('batch'));
  expect(probes).toEqual([]);
});

it('deletes nobody wrongly in batches while people come and go, and one answer in seven is faulty', async () => {
  const world = await openSyncWorld({ persons: 1200, seed: 5, profile: 'live', churn: 4, faults: 'mixed' }, many);
  onTestFinished(() => world.close());
  for (let round = 0; round < 3; round += 1) {
    await world.sync();
    await world.reconcile();
    expect(wronglyDeleted(world)).toBe(0);
  }
});
