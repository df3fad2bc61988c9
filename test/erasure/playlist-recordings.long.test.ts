import { expect, test } from 'vitest';
import { findTexts } from './find-texts.ts';
import { openErasureWorld, type ErasureWorld } from './erasure-world.ts';
import { listTargets } from '../../src/mirror/erasure-targets.ts';
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

/** A world whose first playlist shows entries as a live service does, and tells that there are more. */
async function worldWithEntries(): Promise<{
  world: ErasureWorld;
  entries: { id: string; [field: string]: unknown }[];
}> {
  const world = await openErasureWorld(3);
  const [list = ''] = world.sandbox.playlists;
  const entries: { id: string }[] = [];
  world.intercept(async (asked, send) => {
    const answer = await send();
    if (asked.method !== 'GET' || !asked.path.endsWith(`/${list}/recordings/`)) return answer;
    const bytes = Buffer.from(JSON.stringify({ results: entries, has_next: true }));
    return { ...answer, contentType: 'application/json', bytes };
  });
  return { world, entries };
}

/** The recordings that the mirror and the published files have in playlists, each once. */
async function inPlaylists(world: ErasureWorld): Promise<string[]> {
  const mirrored = world.db().prepare<[], string>(`SELECT recording_id FROM playlist_recordings`).pluck().all();
  return [...new Set([...mirrored, ...(await published(world)).flat()])].toSorted();
}

const madeUp = '5c6f3c1e-0d0b-5c5e-8a39-0d2f7d6a9c11';

test.each([
  ['nobody', 'before', null],
  ['a uuid that nobody has', 'before', { uuid: madeUp, distinct_ids: ['phone'] }],
  ['nobody', 'after', null],
])(
  'a recording in a playlist alone, under a distinct id and with %s, leaves with the person who is synced %s it',
  async (_whom, when, person) => {
    const { world, entries } = await worldWithEntries();
    if (when === 'after') entries.push({ id: 'mine', distinct_id: 'phone', person });
    const other = world.create(['other']);
    entries.push({ id: 'of another', distinct_id: 'other', person: { uuid: other } });
    if (when === 'after') await world.syncAndPublish();
    const uuid = world.create(['laptop', 'phone']);
    if (when === 'before') entries.push({ id: 'mine', distinct_id: 'phone', person });
    await world.syncAndPublish();
    // The list shows its newest entries, and these are others by now.
    entries.splice(0);
    await world.syncAndPublish();
    expect(await inPlaylists(world)).toEqual(['mine', 'of another']);
    await world.request([{ kind: 'uuid', value: uuid }]);
    await world.reconcile();
    expect(await inPlaylists(world)).toEqual(['of another']);
    const left = (await findTexts(world.dataDir, ['mine'])).get('mine') ?? [];
    expect(left.filter((place) => place.includes('playlist'))).toEqual([]);
    expect(listTargets(world.db(), world.onlyRequest().id)).toContainEqual(
      expect.objectContaining({ target: 'upstream.playlists', result: 'removed', assurance: 'not_verifiable' }),
    );
  },
);

test('a recording in a playlist under the distinct id of one person and with another is decided by an operator', async () => {
  const { world, entries } = await worldWithEntries();
  const [uuid, other] = [world.create(['phone']), world.create(['other'])];
  entries.push({ id: 'whose', distinct_id: 'phone', person: { uuid: other } });
  await world.syncAndPublish();
  await world.request([{ kind: 'uuid', value: uuid }]);
  await world.reconcile();
  expect(world.onlyRequest().state).toBe('held');
  expect(await inPlaylists(world)).toEqual(['whose']);
  await world.approveHeld();
  await world.reconcile();
  expect(await inPlaylists(world)).toEqual([]);
  expect(world.living()).toContain(other);
});
