import { cpSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect } from 'vitest';
import { loadSettings } from '../../../src/config/load-settings.ts';
import type { PublishedDataset } from '../../../src/contract/datasets.ts';
import { nobody } from '../../../src/contract/identity.ts';
import { type Clock, isoTime } from '../../../src/core/clock.ts';
import { exportMirror } from '../../../src/export/export-mirror.ts';
import { openDatabaseReadOnly } from '../../../src/mirror/database.ts';
import { prepareRemoveRow } from '../../../src/mirror/remove-rows.ts';
import { prepareWriteRows } from '../../../src/mirror/write-rows.ts';
import { removeUnnamedParts } from '../../../src/snapshot/publish.ts';
import { publishedFilesIn } from '../../../src/snapshot/published-files.ts';
import { rewriteSnapshot } from '../../../src/snapshot/rewrite.ts';
import { verifySnapshots } from '../../../src/snapshot/verify.ts';
import { freshFolder, openTestMirror } from '../../mirror/open-test-mirror.ts';
import { type ReadRow } from '../parquet-readers.ts';
import { datasetFolder } from '../paths.ts';
import { filesWithoutSnapshot, readIcebergTable } from './table-reader.ts';

/** What happens to a mirror and to its tables. Persons are few, so that they meet. */
export type TableStep =
  | { do: 'show'; numbers: number[]; name: string }
  | { do: 'remove'; number: number }
  | { do: 'export'; kind: 'full' | 'delta' }
  | { do: 'erase'; numbers: number[] }
  | { do: 'promote'; keys: string[] }
  | { do: 'keep'; keep: number }
  /** Keeps a copy of the published files; puts the last copy back, and erases again who was erased since. */
  | { do: 'copy' }
  | { do: 'restore' };

const number = fc.integer({ min: 1, max: 8 });
const tableStep: fc.Arbitrary<TableStep> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('show' as const),
      numbers: fc.uniqueArray(number, { minLength: 1, maxLength: 5 }),
      name: fc.constantFrom('a', 'b', 'c'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), number }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('export' as const),
      kind: fc.constantFrom('full' as const, 'delta' as const, 'delta' as const, 'delta' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('erase' as const),
      numbers: fc.uniqueArray(number, { minLength: 1, maxLength: 2 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('promote' as const),
      keys: fc.uniqueArray(fc.constantFrom('plan', 'city'), { maxLength: 2 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('keep' as const), keep: fc.integer({ min: 1, max: 3 }) }) },
  // A restore without a copy before it does nothing.
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom('copy' as const, 'restore' as const) }) },
);

const uuidOf = (person: number): string => `00000000-0000-4000-8000-00000000000${person}`;
const tables = ['persons', 'distinct_ids', 'deletions'] as const satisfies PublishedDataset[];
const keys = { persons: 'person_uuid', distinct_ids: 'distinct_id', deletions: 'key' } as const;
type Shown = Map<string, string>;

/** What a table showed when a snapshot was published, without who was erased since. */
type Moment = { atMs: number; rows: Shown };

/** Reads a table with engines of others; each gives its rows, for each time at which a snapshot of it was made. */
type AskEngines = (folder: string) => Promise<ReadRow[][][]>;

/** A row as any reader finds it. JSON of others has no bigint. */
function comparable(row: ReadRow): string {
  return JSON.stringify(Object.entries(row), (_name, value: unknown) =>
    typeof value === 'bigint' ? Number(value) : value,
  );
}

/** A mirror, its tables, and what these have to show. */
export function openTableWorld(datasets: readonly (typeof tables)[number][] = tables, askEngines?: AskEngines) {
  const { db, dataDir } = openTestMirror();
  const published = publishedFilesIn(dataDir);
  let nowMs = Date.UTC(2026, 10, 1);
  const clock: Clock = { now: () => (nowMs += 1), sleep: () => Promise.resolve() };
  const set = Object.entries({ dataDir, 'export.partRows': 3 }).map(([path, value]) => ({ path, value }));
  const { settings } = loadSettings({}, { set });
  const { signal } = new AbortController();
  const options: {
    promote: string[];
    keep: number;
    iceberg?: boolean;
    publicRoot?: string | null;
    /** The path by which the data folder is reached. */
    reachedBy?: string;
  } = { promote: [], keep: 2 };
  const shown = new Map<string, Shown>();
  const moments = new Map<string, Map<string, Moment>>(datasets.map((dataset) => [dataset, new Map()]));
  const counts = { delta: 0, erase: 0, lookedBack: 0, restore: 0, others: 0 };
  const files = join(dataDir, 'snapshots');
  const kept = join(freshFolder(), 'copy');
  let copy: { shown: Map<string, Shown>; erasedSince: Set<number> } | undefined;

  const remove = (person: number, reason: 'merged' | 'deleted'): void => {
    const rowKey = db
      .prepare<[string], number>(`SELECT row_key FROM persons WHERE uuid = ?`)
      .pluck()
      .get(uuidOf(person));
    if (rowKey !== undefined) prepareRemoveRow(db, 'persons')(rowKey, reason, isoTime(clock.now()));
  };
  const mirrored = (dataset: (typeof tables)[number]): Shown => {
    const sql = {
      persons: `SELECT uuid, name || distinct_ids FROM persons`,
      distinct_ids: `SELECT distinct_id, person_uuid FROM person_distinct_ids`,
      deletions: `SELECT key, reason FROM deletions WHERE seq IN (SELECT max(seq) FROM deletions GROUP BY dataset, key)`,
    }[dataset];
    return new Map(db.prepare<[], [string, string]>(sql).raw().all());
  };
  const publish = async (kind: 'full' | 'delta'): Promise<void> => {
    const source = openDatabaseReadOnly(dataDir);
    const context = {
      db,
      published: publishedFilesIn(options.reachedBy ?? dataDir),
      settings: { ...settings, export: { ...settings.export, ...options } },
      clock,
      signal,
    };
    try {
      for (const made of await exportMirror(context, { source, datasets, kind, onProgress: () => undefined }))
        counts.delta += made.kind === 'delta' ? 1 : 0;
      for (const dataset of datasets) {
        shown.set(dataset, mirrored(dataset));
        if (options.iceberg !== false) await noteMoment(dataset);
      }
    } finally {
      source.close();
    }
  };
  const noteMoment = async (dataset: (typeof tables)[number]): Promise<void> => {
    const { metadata } = await readIcebergTable(datasetFolder(dataDir, dataset));
    const made = metadata.snapshots.at(-1);
    const id = made?.summary['analytics-mirror.snapshot'] ?? '';
    const known = moments.get(dataset)?.get(id);
    moments.get(dataset)?.set(id, { atMs: known?.atMs ?? made?.['timestamp-ms'] ?? 0, rows: mirrored(dataset) });
  };
  const restore = async (): Promise<void> => {
    if (!copy) return;
    rmSync(files, { recursive: true });
    cpSync(kept, files, { recursive: true });
    shown.clear();
    for (const [dataset, rows] of copy.shown) shown.set(dataset, new Map(rows));
    removeUnnamedParts(published);
    await eraseFiles([...copy.erasedSince]);
    counts.restore += 1;
  };
  const erase = async (persons: readonly number[]): Promise<void> => {
    db.transaction(() => persons.forEach((person) => remove(person, 'deleted')))();
    for (const person of persons) copy?.erasedSince.add(person);
    await eraseFiles(persons);
  };
  const eraseFiles = async (persons: readonly number[]): Promise<void> => {
    const identities = persons.map((person) => ({
      ...nobody,
      person_uuid: [uuidOf(person)],
      distinct_id: [`d${person}`],
    }));
    for (const dataset of datasets.filter((one) => one !== 'deletions')) {
      for (const { id } of published.listSnapshots(dataset)) {
        const parts = published.readManifest({ dataset, snapshotId: id }).files.map(({ name }) => name);
        await rewriteSnapshot(published, dataset, id, parts, identities, { epoch: (counts.erase += 1), signal });
      }
      for (const rows of [shown.get(dataset), ...(moments.get(dataset)?.values() ?? []).map((moment) => moment.rows)])
        for (const person of persons) rows?.delete(dataset === 'persons' ? uuidOf(person) : `d${person}`);
      if (published.listSnapshots(dataset).length > 0) expectGone(dataDir, dataset, persons);
    }
  };
  const perform = async (step: TableStep): Promise<void> => {
    if (step.do === 'show') {
      const rows = step.numbers.map((person) => ({
        uuid: uuidOf(person),
        id: person,
        name: step.name,
        distinct_ids: JSON.stringify([`d${person}`]),
        properties: JSON.stringify({ plan: step.name, city: step.name }),
        created_at: `2026-01-0${person}T00:00:00.123456Z`,
        extra: null,
      }));
      db.transaction(() => prepareWriteRows(db, 'persons')({ rows, quarantined: [], at: isoTime(clock.now()) }, 1))();
    } else if (step.do === 'remove') db.transaction(() => remove(step.number, 'merged'))();
    else if (step.do === 'promote') options.promote = step.keys;
    else if (step.do === 'keep') options.keep = step.keep;
    else if (step.do === 'export') await publish(step.kind);
    else if (step.do === 'restore') await restore();
    else if (step.do === 'erase') await erase(step.numbers);
    else if (shown.size > 0) {
      rmSync(kept, { recursive: true, force: true });
      cpSync(files, kept, { recursive: true });
      copy = { shown: new Map([...shown].map(([dataset, rows]) => [dataset, new Map(rows)])), erasedSince: new Set() };
    }
  };
  /**
   * Every table, as an independent reader finds it, is what it has to be, now and at each time that is kept. `isAnew`: the
   * table was damaged, and shows the newest snapshot only.
   */
  const check = async ({ isAnew = false } = {}): Promise<void> => {
    for (const [dataset, expected] of shown) {
      const folder = datasetFolder(dataDir, dataset);
      const { metadata, rows, snapshotIds } = await readIcebergTable(folder);
      expectRows(dataset, rows, expected);
      if (options.promote.length > 0 && dataset === 'persons' && rows[0] && 'property_plan' in rows[0])
        for (const row of rows) expect(row['property_plan']).toBe(row['name']);
      // Each published snapshot that is kept can be looked back to, at the time at which it was made.
      const ids = published.listSnapshots(dataset).slice(isAnew && dataset === 'persons' ? -1 : 0);
      const kept = ids.map(({ id }) => [id, moments.get(dataset)?.get(id)?.atMs]);
      expect(
        metadata.snapshots.map((each) => [each.summary['analytics-mirror.snapshot'], each['timestamp-ms']]),
      ).toEqual(kept);
      const past: ReadRow[][] = [];
      for (const [nth, id] of snapshotIds.entries()) {
        const then = await readIcebergTable(folder, id);
        expectRows(dataset, then.rows, moments.get(dataset)?.get(String(kept[nth]?.[0]))?.rows);
        past.push(then.rows);
        counts.lookedBack += nth < snapshotIds.length - 1 ? 1 : 0;
      }
      for (const others of (await askEngines?.(folder)) ?? []) {
        const sorted = (some: readonly ReadRow[]): string[] => some.map(comparable).toSorted();
        expect(others.map(sorted)).toEqual([...past, rows].map(sorted));
        counts.others += others.length;
      }
      expect(await filesWithoutSnapshot(folder)).toEqual([]);
    }
    expect((await verifySnapshots(published)).problems).toEqual([]);
    expect(readdirSync(join(dataDir, 'tmp'))).toEqual([]);
  };
  return { db, dataDir, published, perform, check, counts, options };
}

/** The rows of a table are those of a mirror. */
function expectRows(dataset: string, rows: readonly ReadRow[], expected: Shown | undefined): void {
  const valueOf = (row: ReadRow): unknown =>
    dataset === 'persons'
      ? `${String(row['name'])}${JSON.stringify(row['distinct_ids'])}`
      : dataset === 'deletions'
        ? row['reason']
        : row['person_uuid'];
  const found = rows.map((row) => [row[keys[dataset as keyof typeof keys]], valueOf(row)]);
  expect(new Map(found as [string, string][])).toEqual(expected);
  expect(rows).toHaveLength(expected?.size ?? -1);
}

/** No byte of a file of a table holds a key that was erased; its parts are searched by the tests of rewriting. */
function expectGone(dataDir: string, dataset: string, persons: readonly number[]): void {
  const folder = join(datasetFolder(dataDir, dataset), 'metadata');
  for (const name of readdirSync(folder))
    for (const person of persons) expect(readFileSync(join(folder, name)).includes(uuidOf(person))).toBe(false);
}

/** Plays random steps; after each that publishes, every table has to be what it should be. */
export async function playTables(
  runs: number,
  steps: number,
  datasets: readonly (typeof tables)[number][],
  askEngines?: AskEngines,
): Promise<ReturnType<typeof openTableWorld>['counts']> {
  const sums = { delta: 0, erase: 0, lookedBack: 0, restore: 0, others: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(tableStep, { minLength: steps / 2, maxLength: steps }), async (happens) => {
      const world = openTableWorld(datasets, askEngines);
      // The last export is a delta, whatever was before it.
      const ending = ['y', 'z'].flatMap((name): TableStep[] => [
        { do: 'show', numbers: [1], name },
        { do: 'export', kind: 'delta' },
      ]);
      for (const step of [...happens, ...ending]) {
        await world.perform(step);
        if (['export', 'erase', 'restore'].includes(step.do)) await world.check();
      }
      for (const name of ['delta', 'erase', 'lookedBack', 'restore', 'others'] as const)
        sums[name] += world.counts[name];
    }),
    { numRuns: runs },
  );
  return sums;
}
