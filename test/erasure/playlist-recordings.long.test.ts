import { expect, test } from 'vitest';
import { findTexts } from './find-texts.ts';
import { openErasureWorld, type ErasureWorld } from './erasure-world.ts';
import { listPublishedParts } from '../../src/snapshot/published-parts.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { readWithHyparquet } from '../snapshot/parquet-readers.ts';
import { reuseDuckDb } from '../snapshot/one-duckdb.ts';

reuseDuckDb();

/** The recordings in each published generation of `playlist_recordings`, oldest first. */
async function published({ dataDir }: ErasureWorld): Promise<string[][]> {
  const parts = listPublishedParts(publishedFilesIn(dataDir)).filter(
    ({ dataset }) => dataset === 'playlist_recordings',
  );
  const generations = Map.groupBy(parts, ({ snapshotId }) => snapshotId);
  return Promise.all(
    [...generations.values()].map(async (files) => {
      const rows = await Promise.all(files.map(({ path }) => readWithHyparquet(path)));
      return rows.flat().map((row) => String(row['recording_id']));
    }),
  );
}

test.each([
  ['has', `DELETE FROM recordings WHERE id = ''`],
  ['has no more', `DELETE FROM recordings`],
])('a recording that the mirror %s leaves every file of playlists with its person', async (_has, forget) => {
  const world = await openErasureWorld(3, [], { persons: 6 });
  const { sandbox } = world;
  const [list = ''] = sandbox.playlists;
  // As a live service answers; the documented answer has no body.
  world.intercept(async (asked, send) => {
    const answer = await send();
    if (asked.method !== 'GET' || !asked.path.endsWith(`/${list}/recordings/`)) return answer;
    const results = sandbox.store.playlists.memberDocuments(list).join();
    return {
      ...answer,
      contentType: 'application/json',
      bytes: Buffer.from(`{"results":[${results}],"has_next":false}`),
    };
  });
  await world.sync();
  const recordings = world
    .db()
    .prepare<[], { id: string; uuid: string }>(
      `SELECT id, person_uuid AS uuid FROM recordings WHERE person_uuid IS NOT NULL ORDER BY id`,
    )
    .all();
  const [mine] = recordings;
  const other = recordings.find(({ uuid }) => uuid !== mine?.uuid);
  if (!mine || !other) throw new Error('recordings of one person only');
  for (const { id } of [mine, other]) sandbox.store.playlists.addRecording(list, id);
  await world.syncAndPublish();
  // The list has changed, so there is a second generation.
  sandbox.store.playlists.removeRecording(list, other.id);
  await world.syncAndPublish();
  const before = await published(world);
  expect(before).toHaveLength(2);
  for (const ids of before) expect(ids).toContain(mine.id);
  world.db().exec(forget);
  await world.request([{ kind: 'uuid', value: mine.uuid }]);
  await world.approveHeld();
  await world.reconcile();
  const after = await published(world);
  expect(after).toHaveLength(2);
  expect(after.flat()).not.toContain(mine.id);
  expect(after[0]).toContain(other.id);
  expect(world.db().prepare(`SELECT recording_id FROM playlist_recordings`).pluck().all()).not.toContain(mine.id);
  expect(sandbox.store.playlists.members(list)).not.toContain(mine.id);
  const left = (await findTexts(world.dataDir, [mine.id])).get(mine.id) ?? [];
  expect(left.filter((place) => place.includes('playlist'))).toEqual([]);
});
