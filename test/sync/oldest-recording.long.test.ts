import { expect, it } from 'vitest';
import { hasRoute } from '../../src/contract/identity.ts';
import { openErasureWorld, type ErasureWorld } from '../erasure/erasure-world.ts';

/** A live service, with the ids of its recordings, the oldest first. The oldest can be asked for by its id. */
async function openWorld(query: Record<string, string>): Promise<{ world: ErasureWorld; ids: string[] }> {
  const live = { ghostShare: 0, ghostRun: 0, retentionDays: 30 };
  const world = await openErasureWorld(11, [{ path: 'recordings.query', value: query }], { profile: 'live', live });
  const { recordings } = world.sandbox.store;
  const idOf = (document: string): string => (JSON.parse(document) as { id: string }).id;
  const ids = recordings.page({ limit: 10, offset: 0 }).documents.map(idOf).toReversed();
  while (ids[0] !== undefined && !hasRoute(ids[0])) recordings.delete(ids.shift() ?? '');
  expect(ids.length).toBeGreaterThan(1);
  await world.sync();
  return { world, ids };
}

async function syncForDays({ sync, reconcile, pass }: ErasureWorld): Promise<void> {
  for (let day = 0; day < 2; day += 1) {
    await sync();
    await reconcile();
    pass(1 / 24);
  }
}

const leftAs = ({ db }: ErasureWorld): unknown =>
  db().prepare(`SELECT key, reason FROM deletions WHERE dataset = 'recordings'`).raw().all();

it('the oldest recording of those that are listed is missed when the service deletes it', async () => {
  const { world, ids } = await openWorld({ date_from: '-30d' });
  const [oldest = ''] = ids;
  world.sandbox.store.recordings.delete(oldest);
  await syncForDays(world);
  expect(leftAs(world)).toEqual([[oldest, 'deleted']]);
});

it.each([
  ['is over', '2026-11-17T00:00:00Z', null, ['expired']],
  ['is told by nobody', null, null, []],
  ['is to come, and that began before the first listed day,', '2099-01-01T00:00:00Z', '2026-10-01T00:00:00Z', []],
])('one whose time %s leaves as expired, or is not judged', async (_when, expiry, start, left) => {
  const { world, ids } = await openWorld({ date_from: '-30d' });
  const [oldest = ''] = ids;
  world.sandbox.store.recordings.delete(oldest);
  world
    .db()
    .prepare(
      `UPDATE recordings SET extra = json_set(extra, '$.expiry_time', ?), start_time = coalesce(?, start_time) WHERE id = ?`,
    )
    .run(expiry, start, oldest);
  await syncForDays(world);
  expect(leftAs(world)).toEqual(left.map((reason) => [oldest, reason]));
});
