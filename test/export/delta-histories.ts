import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect } from 'vitest';
import { publishedDatasets, type PublishedDataset } from '../../src/contract/datasets.ts';
import type { Database } from '../../src/mirror/database.ts';
import { feedEnd } from '../../src/erasure/plan.ts';
import { isoTime } from '../../src/core/clock.ts';
import { expireDeletionFeed } from '../../src/mirror/feeds.ts';
import { noteServiceClock } from '../../src/mirror/service-clock.ts';
import { expireDeletions } from '../../src/snapshot/rewrite.ts';
import { listCurrentSnapshots } from '../../src/snapshot/current-snapshots.ts';
import { withDuckDb } from '../../src/snapshot/duckdb.ts';
import { duckDbScript } from '../../src/snapshot/load-sql.ts';
import { currentIds } from '../../src/snapshot/manifest.ts';
import { readWithHyparquet, type ReadRow } from '../snapshot/parquet-readers.ts';
import { snapshotFolder, snapshotsFolder } from '../snapshot/paths.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { exportAll, openWorld, perform, type Step, type World } from './exported-world.ts';

/** Few persons, so that they meet. */
export const number = fc.integer({ min: 1, max: 6 });
/** A sync that shows some persons, who have distinct ids in common. */
export const showPersons = fc.record({
  do: fc.constant('show persons' as const),
  persons: fc.array(
    fc.record({
      number,
      name: fc.constantFrom('a', 'b'),
      distinctIds: fc.uniqueArray(fc.constantFrom('d1', 'd2', 'd3'), { minLength: 1 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});
/** An export, most often of deltas. */
export const exports = fc.record({
  do: fc.constant('export' as const),
  kind: fc.constantFrom('full', 'delta', 'delta', 'delta'),
});
type Moment = Step | { do: 'expire' };
const step: fc.Arbitrary<Moment> = fc.oneof(
  { weight: 4, arbitrary: showPersons },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('show recordings' as const),
      recordings: fc.array(fc.record({ number, person: number, clicks: fc.nat(3) }), { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('remove' as const),
      dataset: fc.constantFrom('persons', 'recordings'),
      number,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('set clock' as const), hours: fc.constantFrom(-30, -2, 2, 30) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('copy' as const, 'restore' as const, 'expire' as const) }) },
  { weight: 3, arbitrary: exports },
);

export async function publish(...given: Parameters<typeof exportAll>): Promise<string[]> {
  return (await exportAll(...given)).map(({ kind }) => kind);
}

/** The parts of the full snapshot of a dataset and of its deltas. */
export function partsOf(dataDir: string, dataset: PublishedDataset): string[] {
  const current = publishedFilesIn(dataDir).readCurrent().snapshots[dataset];
  return [current, ...(current?.deltas ?? [])].flatMap((named) =>
    named === undefined
      ? []
      : publishedFilesIn(dataDir)
          .readManifest({ dataset, snapshotId: named.snapshot_id })
          .files.map(({ name }) => join(snapshotFolder(dataDir, dataset, named.snapshot_id), name)),
  );
}

/** What a reader has who loads all that is published as the documentation says. */
export function load(dataDir: string): Promise<unknown[]> {
  const limits = { folders: [snapshotsFolder(dataDir)], memoryMaxMb: 512, threads: 1 };
  return withDuckDb({ ...limits, signal: new AbortController().signal }, async (connection) => {
    const current = listCurrentSnapshots(publishedFilesIn(dataDir));
    await connection.run(duckDbScript(current, publishedDatasets));
    const rows = await connection.runAndReadAll(`
      SELECT person_uuid, name, CAST(to_json(distinct_ids) AS VARCHAR), epoch_ms(changed_at) FROM persons ORDER BY ALL`);
    const recordings = await connection.runAndReadAll(`
      SELECT id, person_uuid, click_count, epoch_ms(changed_at) FROM recordings ORDER BY ALL`);
    if (!current.some(({ dataset }) => dataset === 'playlists')) return [rows.getRowsJson(), recordings.getRowsJson()];
    const playlists = await connection.runAndReadAll(`
      SELECT short_id, name, epoch_ms(changed_at) FROM playlists ORDER BY ALL`);
    const members = await connection.runAndReadAll(`
      SELECT short_id, recording_id, person_uuid FROM playlist_recordings ORDER BY ALL`);
    return [rows, recordings, playlists, members].map((read) => read.getRowsJson());
  });
}

/** What the mirror has of what `load` loads. `datasets`: how many of them. */
export function mirrored(db: Database, datasets = 2): unknown[] {
  const ms = `CAST(CAST(round((julianday(changed_at) - 2440587.5) * 86400000) AS INTEGER) AS TEXT)`;
  const read = (sql: string): unknown[] => db.prepare(sql).raw().all();
  return [
    read(`SELECT uuid, name, distinct_ids, ${ms} FROM persons ORDER BY uuid`),
    read(`SELECT id, person_uuid, CAST(click_count AS TEXT), ${ms} FROM recordings ORDER BY id`),
    read(`SELECT short_id, name, ${ms} FROM playlists ORDER BY 1`),
    read(`SELECT short_id, recording_id, person_uuid FROM playlist_recordings ORDER BY 1, 2`),
  ].slice(0, datasets);
}

/**
 * A reader that has a table of persons of its own, takes only what is new, and goes by numbers, as documented. `told`: the
 * persons of whom it was told that they have left.
 */
function openReader(dataDir: string) {
  const own = new Map<string, number>();
  const told = new Set<string>();
  let [full, newest] = ['', 0];
  return {
    own,
    told,
    follow: async (): Promise<void> => {
      const published = publishedFilesIn(dataDir);
      const [first = ''] = currentIds(published.readCurrent(), 'persons');
      const read = async (dataset: 'persons' | 'deletions'): Promise<ReadRow[]> =>
        (await Promise.all(partsOf(dataDir, dataset).map(readWithHyparquet))).flat();
      const [rows, gone] = [await read('persons'), await read('deletions')];
      if (first !== full) own.clear();
      for (const row of rows.toSorted((a, b) => Number(a['_seq']) - Number(b['_seq'])))
        if (first !== full || Number(row['_seq']) > newest) own.set(String(row['person_uuid']), Number(row['_seq']));
      for (const { dataset, key, _seq: seq } of gone) {
        if (dataset !== 'persons') continue;
        if (Number(seq) > newest) told.add(String(key));
        if (Number(seq) > (own.get(String(key)) ?? Infinity)) own.delete(String(key));
      }
      [full, newest] = [first, Math.max(...[...rows, ...gone].map((row) => Number(row['_seq'])))];
    },
  };
}

const someone: Step = { do: 'show persons', persons: [{ number: 7, name: 'g', distinctIds: ['d7'] }] };
const full: Step = { do: 'export', kind: 'full' };
const delta: Step = { do: 'export', kind: 'delta' };

/** Lets old deletions leave both feeds, as reconciliations do. */
async function expire({ db, dataDir, clock, settings }: World): Promise<void> {
  // Before the service's clock has agreed, nothing is old.
  const nowMs = clock.now();
  noteServiceClock(db, { earliestMs: nowMs, latestMs: nowMs, aheadMs: 0 }, isoTime(nowMs));
  const published = publishedFilesIn(dataDir);
  const end = feedEnd({ db, settings, published });
  expireDeletionFeed(db, end);
  await expireDeletions(published, end, { epoch: 0, signal: new AbortController().signal });
}

const leaves: Step = { do: 'remove', dataset: 'persons', number: 7 };
const clock = (hours: number): Step => ({ do: 'set clock', hours });
const changed: Step = { do: 'show persons', persons: [{ number: 7, name: 'b', distinctIds: ['d7'] }] };
/**
 * Who changed under a clock that was ahead leaves; who left under it comes back; deltas outlive the feed; an older mirror gives
 * numbers again.
 */
const known: Moment[][] = [
  [clock(2), changed, delta, clock(-2), leaves],
  [clock(2), leaves, delta, clock(-2), changed],
  [changed, delta, leaves, delta, clock(2400), { do: 'expire' }],
  [{ do: 'copy' }, changed, someone, changed, delta, { do: 'restore' }, leaves],
];

/**
 * Plays random histories: whatever is published in between, loaded as documented, has to be the mirror. Returns how many deltas
 * were published. `readers`: others who take what is published after each export, and say what they have then.
 */
export async function checkHistories(
  numRuns: number,
  readers?: (dataDir: string) => Promise<unknown[]>,
): Promise<number> {
  let deltas = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
      const world = openWorld();
      const { db } = world;
      const keys = (sql: string): unknown[] => db.prepare(sql).pluck().all();
      const reader = openReader(world.dataDir);
      let shown: unknown = null;
      for (const happens of [someone, full, ...steps, delta]) {
        const left = keys(`SELECT key FROM deletions WHERE dataset = 'persons'`);
        if (happens.do === 'expire') {
          await expire(world);
          expect(shown === null ? null : await load(world.dataDir)).toEqual(shown);
        } else if (happens.do !== 'export') perform(world, happens);
        else {
          const [kind] = await publish(world, happens.kind);
          deltas += kind === 'delta' ? 1 : 0;
          shown = mirrored(db);
          expect(await load(world.dataDir)).toEqual(shown);
          if (readers) expect(await readers(world.dataDir)).toEqual(shown);
          await reader.follow();
          expect([...reader.own.keys()].toSorted()).toEqual(keys(`SELECT uuid FROM persons ORDER BY uuid`));
          expect([...reader.told]).toEqual(expect.arrayContaining(left));
        }
      }
    }),
    { numRuns: numRuns + known.length, examples: known.map((steps) => [steps]) },
  );
  return deltas;
}
