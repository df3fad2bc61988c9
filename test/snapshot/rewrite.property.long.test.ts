import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { cleanJson } from '../../src/core/clean-json.ts';
import { measureFile } from '../../src/core/digest.ts';
import type { Identity } from '../../src/contract/identity.ts';
import { type Row, publishedShapes } from '../../src/snapshot/columns.ts';
import { parquetRows, sqlName, sqlText, withDuckDb } from '../../src/snapshot/duckdb.ts';
import type { SnapshotName } from '../../src/snapshot/file-names.ts';
import { copyOptions } from '../../src/snapshot/parquet-file.ts';
import { locateIdentity } from '../../src/snapshot/subject-rows.ts';
import { rewriteSnapshot } from '../../src/snapshot/rewrite.ts';
import type { PublishedDataset } from '../../src/contract/datasets.ts';
import { verifySnapshots } from '../../src/snapshot/verify.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { publishedRows, publishRows, rowsOfSnapshot } from './publish-rows.ts';
import { personRow, recordingRow } from './rows.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { reuseDuckDb } from './one-duckdb.ts';

reuseDuckDb();

/** A dataset whose rows an erasure takes away. */
type PersonalDataset = Exclude<PublishedDataset, 'playlists' | 'deletions' | 'passes' | 'fence'>;

const { signal } = new AbortController();

// Few values, so that identities meet rows; awkward ones, so that they must not meet others.
const uuids = ['a', 'aa', 'b', 'B', 'c', '😀', '\uffff', 'd', 'e', 'f'];
const ids = ['1', '11', '-1', '9007199254740993'];
const distinctIds = ['ann@x', 'joann@x', '', 'q"q', '"', '\\', '😀', "it's", 'nul \0', '/', 'ANN@x', '\u2028'];
const recordingIds = ['r1', 'r10', 'r2', 'r"', 'r3'];
const some = (values: readonly string[], maxLength: number): fc.Arbitrary<string[]> =>
  fc.uniqueArray(fc.constantFrom(...values), { maxLength });

const identity: fc.Arbitrary<Identity> = fc.record({
  person_uuid: some(uuids, 3),
  person_id: some([...ids, 'x'], 1),
  distinct_id: some(distinctIds, 3),
  recording_id: some(recordingIds, 2),
});

const json = fc.json({ stringUnit: 'binary' });
const orNull = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(values, { freq: 4 });
const listed = orNull(some(distinctIds, 4).map((list) => JSON.stringify(list)));
const embedded = orNull(
  fc
    .record({
      id: fc.nat(),
      name: fc.constantFrom(...distinctIds),
      distinct_ids: fc.oneof(fc.constantFrom(...distinctIds), some(distinctIds, 3), fc.constant(null)),
      properties: fc.object({ stringUnit: 'binary' }),
    })
    .map((person) => JSON.stringify(person)),
);

/** Rows with keys of their own, in the order of the dataset. */
function table(
  dataset: PersonalDataset,
  keys: readonly string[],
  fields: fc.Arbitrary<Row>,
  make: (key: string, fields: Row) => Row,
) {
  return fc.uniqueArray(fc.tuple(fc.constantFrom(...keys), fields), { selector: ([key]) => key }).map((rows) =>
    sorted(
      rows.map(([key, values]) => make(key, values)),
      publishedShapes[dataset].sortedBy,
    ),
  );
}

function sorted(rows: readonly Row[], by: readonly string[]): Row[] {
  const place = (row: Row): Buffer => Buffer.from(by.map((field) => String(row[field])).join('\0'));
  return rows.toSorted((a, b) => Buffer.compare(place(a), place(b)));
}

const tables: Record<PersonalDataset, fc.Arbitrary<Row[]>> = {
  persons: table(
    'persons',
    uuids,
    fc.record({ id: orNull(fc.constantFrom(...ids).map(BigInt)), distinct_ids: listed, properties: json }),
    personRow,
  ),
  recordings: table(
    'recordings',
    recordingIds,
    fc.record({
      distinct_id: orNull(fc.constantFrom(...distinctIds)),
      person_uuid: orNull(fc.constantFrom(...uuids)),
      person: embedded,
    }),
    recordingRow,
  ),
  distinct_ids: table(
    'distinct_ids',
    distinctIds,
    fc.record({ person_uuid: fc.constantFrom(...uuids) }),
    (key, fields) => ({ distinct_id: key, person_uuid: null, ...fields }),
  ),
  playlist_recordings: table(
    'playlist_recordings',
    recordingIds,
    fc.record({ person_uuid: orNull(fc.constantFrom(...uuids)) }),
    (key, fields) => ({ recording_id: key, short_id: 'list', person_uuid: null, ...fields }),
  ),
};

/** What should be left of a row: nothing, all of it, or the row without what names the identity. */
function modelOf(dataset: PersonalDataset, row: Row, subject: Identity): Row | undefined {
  const is = (kind: keyof Identity, value: Row[string] | undefined): boolean =>
    value !== null && value !== undefined && subject[kind].includes(String(value));
  const isOwn = {
    // Beside a uuid, an integer id names nobody.
    persons: is('person_uuid', row['uuid']) || (subject.person_uuid.length === 0 && is('person_id', row['id'])),
    recordings:
      is('recording_id', row['id']) || is('person_uuid', row['person_uuid']) || is('distinct_id', row['distinct_id']),
    distinct_ids: is('distinct_id', row['distinct_id']) || is('person_uuid', row['person_uuid']),
    playlist_recordings: is('recording_id', row['recording_id']) || is('person_uuid', row['person_uuid']),
  }[dataset];
  if (isOwn) return undefined;
  if (dataset === 'persons' && typeof row['distinct_ids'] === 'string') {
    const kept = (JSON.parse(row['distinct_ids']) as string[]).filter((id) => !is('distinct_id', id));
    return { ...row, distinct_ids: JSON.stringify(kept) };
  }
  if (dataset === 'recordings' && typeof row['person'] === 'string') {
    const person = JSON.parse(row['person']) as { name?: string; distinct_ids: string | string[] | null };
    const list = person.distinct_ids;
    const kept = Array.isArray(list)
      ? list.filter((id) => !is('distinct_id', id))
      : is('distinct_id', list)
        ? null
        : list;
    const unnamed = is('distinct_id', person.name) ? { name: null } : {};
    return { ...row, person: JSON.stringify({ ...person, ...unnamed, distinct_ids: kept }) };
  }
  return row;
}

const run = fc
  .constantFrom<PersonalDataset>('persons', 'recordings', 'distinct_ids', 'playlist_recordings')
  .chain((dataset) =>
    fc.record({
      dataset: fc.constant(dataset),
      rows: tables[dataset],
      subject: identity,
      partRows: fc.integer({ min: 1, max: 5 }),
      isOlder: fc.boolean(),
    }),
  );

/** A row whose JSON is as it is published. */
function cleaned(row: object): object {
  const texts = Object.entries(row).filter(
    ([name, value]) => ['person', 'properties'].includes(name) && value !== null,
  );
  return {
    ...row,
    ...Object.fromEntries(texts.map(([name, value]) => [name, cleanJson(String(value), () => undefined)])),
  };
}

test('whatever the rows and whoever goes: exactly their rows go, the others stay equal and in order', async () => {
  await fc.assert(
    fc.asyncProperty(run, async ({ dataset, rows: given, subject, partRows, isOlder }) => {
      const dataDir = temporaryFolder();
      const snapshotId = await publishRows(dataDir, dataset, given, { partRows });
      const { key } = publishedShapes[dataset];
      const parts = Array.from({ length: Math.ceil(given.length / partRows) }, (_none, part) =>
        given.slice(part * partRows, (part + 1) * partRows),
      );
      // Earlier versions sorted every part by the key.
      const rows = isOlder ? parts.flatMap((part) => sorted(part, [key.field])) : given;
      if (isOlder) await sortByKey(dataDir, { dataset, snapshotId }, key.name);
      const current = publishedFilesIn(dataDir).readCurrent();
      const before = await rowsOfSnapshot(dataDir, dataset, snapshotId);
      const models = rows.map((row) => modelOf(dataset, row, subject));
      const changed = rows.filter(
        (row, index) => JSON.stringify(row, digits) !== JSON.stringify(models[index], digits),
      );

      const located = await locateIdentity(publishedFilesIn(dataDir), subject, { signal });
      expect(located.parts.flatMap(({ found }) => found)).toHaveLength(changed.length);
      const names = located.parts.map(({ name }) => name);
      const rewritten = await rewriteSnapshot(publishedFilesIn(dataDir), dataset, snapshotId, names, [subject], {
        epoch: 8,
        signal,
      });

      const left = models.filter((row) => row !== undefined);
      const after = await rowsOfSnapshot(dataDir, dataset, snapshotId);
      expect(after.parts.flat().map(cleaned)).toEqual(publishedRows(dataset, left).map(cleaned));
      expect(after.manifest).toEqual({
        ...before.manifest,
        rows: left.length,
        erasure_epoch: names.length > 0 ? 8 : 3,
        files: after.manifest.files,
      });
      expect(after.manifest.files.map((file) => file.rows)).toEqual(after.parts.map((part) => part.length));
      expect(rewritten.map(({ name }) => name)).toEqual(names);
      expect(sum(rewritten.map(({ rowsRemoved }) => rowsRemoved))).toBe(rows.length - left.length);
      expect((await locateIdentity(publishedFilesIn(dataDir), subject, { signal })).parts).toEqual([]);
      expect((await verifySnapshots(publishedFilesIn(dataDir))).problems).toEqual([]);
      expect(publishedFilesIn(dataDir).readCurrent().snapshots).toEqual(current.snapshots);
    }),
    { numRuns: 25 },
  );
}, 240_000);

/** Sorts each part of a snapshot by its key, as a snapshot of an earlier version is. */
async function sortByKey(dataDir: string, snapshot: SnapshotName, key: string): Promise<void> {
  const published = publishedFilesIn(dataDir);
  const manifest = published.readManifest(snapshot);
  const limits = { folders: [published.localFolder], memoryMaxMb: 256, threads: 1, signal };
  for (const file of manifest.files) {
    const path = published.localPath(snapshot, file.name);
    await withDuckDb(limits, async (connection) => {
      await connection.run(`CREATE TABLE part AS FROM ${parquetRows([path])}`);
      await connection.run(
        `COPY (FROM part ORDER BY ${sqlName(key)}) TO ${sqlText(path)} ${copyOptions(manifest.columns)}`,
      );
    });
    Object.assign(file, await measureFile(path));
  }
  published.writeManifest(manifest);
}

function digits(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
