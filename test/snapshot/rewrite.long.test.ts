import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';
import { expect, test } from 'vitest';
import { type Identity, nobody } from '../../src/contract/identity.ts';
import { sha256File } from '../../src/core/digest.ts';
import { type Row, publishedShapes } from '../../src/snapshot/columns.ts';
import { snapshotFolder } from './paths.ts';
import { expireDeletions, rewriteSnapshot, type Twins } from '../../src/snapshot/rewrite.ts';
import { locateIdentity } from '../../src/snapshot/subject-rows.ts';
import { verifySnapshots } from '../../src/snapshot/verify.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { listAll } from '../export/export-fixture.ts';
import { readWithHyparquet, readWithParquetjs } from './parquet-readers.ts';
import { publishedRows, publishRows, rowsOfSnapshot } from './publish-rows.ts';
import { personRow, recordingRow } from './rows.ts';
import { temporaryFolder } from './temporary-folder.ts';

const { signal } = new AbortController();
const options = { epoch: 4, signal };
const first = '20261120T125500.123Z';
const second = '20261120T125500.124Z';
const part = 'part-00001.parquet';

/** Rewrites parts of persons without subjects: of the first snapshot, unless told. */
function rewrite(
  dataDir: string,
  parts: readonly string[],
  subjects: readonly Identity[],
  { snapshotId = first, ...more }: Partial<typeof options> & { snapshotId?: string; twins?: Twins } = {},
): ReturnType<typeof rewriteSnapshot> {
  const published = publishedFilesIn(dataDir);
  return rewriteSnapshot(published, 'persons', snapshotId, parts, subjects, { ...options, ...more });
}

const keysOf = (rows: readonly Record<string, unknown>[]): unknown[] => rows.map(({ person_uuid: key }) => key);

test('the named parts are replaced in their places, under names that were never used', async () => {
  const dataDir = temporaryFolder();
  await publishRows(
    dataDir,
    'persons',
    ['a', 'b', 'c', 'd', 'e'].map((key) => personRow(key)),
    { partRows: 2 },
  );
  const before = publishedFilesIn(dataDir).readManifest({ dataset: 'persons', snapshotId: first });
  const current = publishedFilesIn(dataDir).readCurrent();
  const subject = { ...nobody, person_uuid: ['a', 'd'] };
  const rewritten = await rewrite(dataDir, [part, 'part-00002.parquet', 'part-00077.parquet'], [subject]);
  expect(rewritten).toEqual(
    [
      { name: part, newName: 'part-00004.parquet', rowsBefore: 2, rowsRemoved: 1 },
      { name: 'part-00002.parquet', newName: 'part-00005.parquet', rowsBefore: 2, rowsRemoved: 1 },
    ].map((each) => Object.assign(each, { snapshotId: first, rowsRemovedOf: [1] })),
  );
  const { manifest, parts } = await rowsOfSnapshot(dataDir, 'persons', first);
  expect(parts.map(keysOf)).toEqual([['b'], ['c'], ['e']]);
  expect(manifest).toMatchObject({ ...before, erasure_epoch: 4, rows: 3, files: expect.anything() as object });
  expect(manifest.files.map(({ name }) => name)).toEqual([
    'part-00004.parquet',
    'part-00005.parquet',
    'part-00003.parquet',
  ]);
  const { schema } = await parquetMetadataAsync(
    await asyncBufferFromFile(join(snapshotFolder(dataDir, 'persons', first), 'part-00004.parquet')),
  );
  expect(schema.flatMap(({ field_id: id }) => id ?? [])).toEqual([1, 2, 3, 4, 104, 5, 6, 7, 8, 9]);
  expect(publishedFilesIn(dataDir).readCurrent().snapshots).toEqual(current.snapshots);
  expect(listAll(snapshotFolder(dataDir, 'persons', first))).toEqual([
    'manifest.json',
    'part-00003.parquet',
    'part-00004.parquet',
    'part-00005.parquet',
  ]);
  expect(listAll(join(dataDir, 'tmp'))).toEqual([]);
  expect((await verifySnapshots(publishedFilesIn(dataDir))).problems).toEqual([]);
  expect(await rewrite(dataDir, [part], [subject])).toEqual([]);
  expect(await rewrite(dataDir, [part], [subject], { snapshotId: second })).toEqual([]);
});

test('a part that becomes empty stays, with its schema, and can be rewritten again', async () => {
  const dataDir = temporaryFolder();
  await publishRows(dataDir, 'persons', [personRow('a')], { promote: ['plan'] });
  const schemaOf = async (name: string): Promise<unknown> => {
    const file = await asyncBufferFromFile(join(snapshotFolder(dataDir, 'persons', first), name));
    return (await parquetMetadataAsync(file)).schema;
  };
  const schema = await schemaOf(part);
  const subject = { ...nobody, person_id: ['7'] };
  expect(await rewrite(dataDir, [part], [subject])).toMatchObject([{ rowsBefore: 1, rowsRemoved: 1 }]);
  expect(await schemaOf('part-00002.parquet')).toEqual(schema);
  expect(publishedFilesIn(dataDir).readManifest({ dataset: 'persons', snapshotId: first })).toMatchObject({
    rows: 0,
    files: [{ name: 'part-00002.parquet', rows: 0 }],
  });
  expect(await rewrite(dataDir, ['part-00002.parquet'], [subject])).toMatchObject([{ rowsBefore: 0, rowsRemoved: 0 }]);
  expect((await verifySnapshots(publishedFilesIn(dataDir))).problems).toEqual([]);
});

test('of each identity its own rows are counted, and a row of two counts for both', async () => {
  const dataDir = temporaryFolder();
  const rows = ['a', 'b', 'c', 'd'].map((key, at) => personRow(key, { id: at + 1 }));
  await publishRows(dataDir, 'persons', rows);
  const identities = [
    { ...nobody, person_uuid: ['a', 'b', 'elsewhere'], person_id: ['1'] },
    { ...nobody, person_id: ['2'] },
    { ...nobody, person_uuid: ['nowhere'] },
    { ...nobody, person_uuid: ['\ud800', 'd'] },
  ];
  const [rewritten] = await rewrite(dataDir, [part], identities);
  expect(rewritten).toMatchObject({ rowsBefore: 4, rowsRemoved: 3, rowsRemovedOf: [2, 1, 0, 1] });
});

test('somebody with another uuid stays, who has the integer id of the subject: a service may use it again', async () => {
  const dataDir = temporaryFolder();
  await publishRows(dataDir, 'persons', [personRow('a', { id: 4 }), personRow('b', { id: 4 })]);
  const subject = { ...nobody, person_uuid: ['a'], person_id: ['4'] };
  const located = await locateIdentity(publishedFilesIn(dataDir), subject, { signal });
  expect(located.parts.flatMap(({ found }) => found.map((row) => row.person_uuid))).toEqual(['a']);
  await rewrite(dataDir, [part], [subject]);
  expect((await rowsOfSnapshot(dataDir, 'persons', first)).parts.map(keysOf)).toEqual([['b']]);
});

test('each of several subjects is known by itself: of two with one integer id, and of one of whom nothing else is known', async () => {
  const dataDir = temporaryFolder();
  const rows = [
    personRow('a', { id: 4 }),
    personRow('b', { id: 4 }),
    personRow('c', { id: 5 }),
    personRow('d', { id: 6 }),
  ];
  await publishRows(dataDir, 'persons', rows);
  const subjects = [
    { ...nobody, person_uuid: ['a'], person_id: ['4', '6'] },
    { ...nobody, person_uuid: ['b'], person_id: ['4'] },
    { ...nobody, person_id: ['5'] },
  ];
  const [rewritten] = await rewrite(dataDir, [part], subjects);
  expect(rewritten).toMatchObject({ rowsRemoved: 3, rowsRemovedOf: [1, 1, 1] });
  expect((await rowsOfSnapshot(dataDir, 'persons', first)).parts.map(keysOf)).toEqual([['d']]);
});

test.each([
  ['each generation is rewritten on its own', {}],
  ['of parts with the same bytes in two generations, one is encoded', { twins: new Map() }],
])('%s', async (_what, more: { twins?: Twins }) => {
  const dataDir = temporaryFolder();
  const [ann, bob] = [personRow('a', { id: 1 }), personRow('b', { id: 2 })];
  await publishRows(dataDir, 'persons', [ann, bob]);
  await publishRows(dataDir, 'persons', [ann, bob]);
  const newPart = (id: string): string => join(snapshotFolder(dataDir, 'persons', id), 'part-00002.parquet');
  const subject = { ...nobody, person_id: ['1'] };
  await rewrite(dataDir, [part], [subject], more);
  expect(keysOf((await rowsOfSnapshot(dataDir, 'persons', first)).parts.flat())).toEqual(['b']);
  expect(keysOf((await rowsOfSnapshot(dataDir, 'persons', second)).parts.flat())).toEqual(['a', 'b']);
  if (more.twins) expect(more.twins.size).toBe(1);
  await rewrite(dataDir, [part], [subject], { snapshotId: second, ...more });
  expect(keysOf((await rowsOfSnapshot(dataDir, 'persons', second)).parts.flat())).toEqual(['b']);
  expect(await sha256File(newPart(second))).toBe(await sha256File(newPart(first)));
  expect((await verifySnapshots(publishedFilesIn(dataDir))).problems).toEqual([]);
});

// Within a batch, a join hands out the rows that match before the others.
test('over many row groups, order and every other value stay, wherever lists are trimmed', async () => {
  const dataDir = temporaryFolder();
  const rows = Array.from({ length: 50_000 }, (_, index) =>
    personRow(`p${String(index).padStart(6, '0')}`, {
      id: BigInt(index),
      distinct_ids: JSON.stringify([`d${index}`, ...(index % 7 === 3 ? ['shared'] : [])]),
      created_at: `2024-05-01T02:03:04.${String(index).padStart(6, '0')}Z`,
    }),
  );
  await publishRows(dataDir, 'persons', rows, { partRows: 60_000 });
  const gone = rows.filter((_, index) => index % 5 === 4).map(({ id }) => String(id));
  const subject = { ...nobody, person_id: gone, distinct_id: ['shared'] };
  const [rewritten] = await rewrite(dataDir, [part], [subject]);
  const left = rows
    .filter((_, index) => index % 5 !== 4)
    .map((row) =>
      personRow(String(row['uuid']), { ...row, distinct_ids: String(row['distinct_ids']).replace(',"shared"', '') }),
    );
  const { parts } = await rowsOfSnapshot(dataDir, 'persons', first);
  expect(parts.flat()).toEqual(publishedRows('persons', left));
  expect(rewritten).toMatchObject({ rowsRemoved: 10_000 });
});

const canary: Row = {
  id: 990_000_000_001n,
  name: 'Zzyzx Canary',
  distinct_ids: '["canary-distinct","zz@canary.example"]',
  properties: '{"email":"zz@canary.example","plan":"canary plan"}',
  extra: '{"note":"canary extra"}',
};
const traces = [...JSON.stringify(Object.values({ ...canary, id: null })).matchAll(/[\w@.]*canary[\w@.]*/gi)].map(
  ([trace]) => trace,
);

// parquetjs-lite fails at times that repeat.
const timeOf = (index: number): string => `2024-05-01T02:03:04.${String(index).padStart(6, '0')}Z`;

/** The bytes of every file below a folder, and of every compressed page in them. */
function textsOf(folder: string): string {
  const files = listAll(folder).map((name) => readFileSync(join(folder, name)));
  return [...files, ...files.flatMap(pagesOf)].map((bytes) => bytes.toString('latin1')).join('');
}

/** The content of every frame of Zstandard in a file. */
function pagesOf(bytes: Buffer): Buffer[] {
  const pages: Buffer[] = [];
  for (let at = bytes.indexOf('28b52ffd', 0, 'hex'); at !== -1; at = bytes.indexOf('28b52ffd', at + 1, 'hex'))
    pages.push(zstdDecompressSync(bytes.subarray(at)));
  return pages;
}

// A last key is what the footer's bounds keep; a repeated value is what a dictionary page keeps.
test.for([
  ['the first key', '\u0000canary'],
  ['a key in the middle', 'p0050 canary'],
  ['the last key', 'zz canary'],
] as const)('no byte of a person with %s is left, in pages, dictionaries, bounds and manifest', async ([, key]) => {
  const dataDir = temporaryFolder();
  const others = Array.from({ length: 200 }, (_, index) =>
    personRow(`p${String(index).padStart(4, '0')}`, { created_at: timeOf(index), changed_at: timeOf(index) }),
  );
  const rows = [...others, personRow(key, canary)].toSorted((a, b) =>
    Buffer.compare(Buffer.from(String(a['uuid'])), Buffer.from(String(b['uuid']))),
  );
  await publishRows(dataDir, 'persons', rows, { promote: ['plan'], partRows: 300 });
  const folder = snapshotFolder(dataDir, 'persons', first);
  const before = textsOf(folder);
  expect(traces.length).toBeGreaterThan(5);
  expect(traces.filter((trace) => !before.includes(trace))).toEqual([]);
  await rewrite(dataDir, [part], [{ ...nobody, person_uuid: [key] }]);
  const after = textsOf(folder);
  expect(after.toLowerCase()).not.toContain('canary');
  const expected = publishedRows('persons', others);
  const path = join(folder, 'part-00002.parquet');
  expect((await readWithHyparquet(path)).map(({ property_plan: _, ...row }) => row)).toEqual(expected);
  const withParquetjs = await readWithParquetjs(path, publishedShapes.persons);
  expect(keysOf(withParquetjs)).toEqual(keysOf(expected));
  const { row_groups: groups } = await parquetMetadataAsync(await asyncBufferFromFile(path));
  expect(new Set(groups.flatMap(({ columns }) => columns.map(({ meta_data: data }) => data?.codec)))).toEqual(
    new Set(['ZSTD']),
  );
});

test('a recording of somebody else keeps all but the distinct id, digit for digit', async () => {
  const dataDir = temporaryFolder();
  const person = '{"id":12345678901234567890,"distinct_ids":["ann","bob"],"properties":{"__proto__":1}}';
  await publishRows(dataDir, 'recordings', [recordingRow('r1', { distinct_id: 'bob', person })]);
  const subject: Identity = { ...nobody, distinct_id: ['ann'] };
  expect(
    await rewriteSnapshot(publishedFilesIn(dataDir), 'recordings', first, [part], [subject], options),
  ).toMatchObject([{ rowsRemoved: 0 }]);
  const { parts } = await rowsOfSnapshot(dataDir, 'recordings', first);
  expect(parts.flat()).toEqual(
    publishedRows('recordings', [recordingRow('r1', { distinct_id: 'bob', person: person.replace('"ann",', '') })]),
  );
});

test('a part that is not what was published is not rewritten, and nothing changes', async () => {
  const dataDir = temporaryFolder();
  await publishRows(dataDir, 'persons', [personRow('a'), personRow('b')], { partRows: 1 });
  const folder = snapshotFolder(dataDir, 'persons', first);
  const path = join(folder, 'part-00002.parquet');
  const bytes = readFileSync(path);
  bytes[20] = (bytes[20] ?? 0) ^ 1;
  writeFileSync(path, bytes);
  const before = [listAll(dataDir), await sha256File(join(folder, 'manifest.json'))];
  await expect(
    rewrite(dataDir, [part, 'part-00002.parquet'], [{ ...nobody, person_uuid: ['a'] }]),
  ).rejects.toMatchObject({
    code: 'storage',
    message: expect.stringContaining('part-00002.parquet is damaged') as string,
  });
  expect([listAll(dataDir), await sha256File(join(folder, 'manifest.json'))]).toEqual(before);
});

test('an abort changes nothing', async () => {
  const dataDir = temporaryFolder();
  const rows = Array.from({ length: 20_000 }, (_, index) => personRow(String(index + 100_000), { id: index }));
  await publishRows(dataDir, 'persons', rows, { partRows: 20_000 });
  const before = listAll(dataDir);
  const controller = new AbortController();
  const reason = new Error('stop');
  const rewriting = rewrite(dataDir, [part], [{ ...nobody, person_id: ['7'] }], { signal: controller.signal });
  setImmediate(() => controller.abort(reason));
  await expect(rewriting).rejects.toBe(reason);
  expect(listAll(dataDir)).toEqual(before);
});

test('deletions leave the feed of every generation when they are old enough and no delta needs them', async () => {
  const dataDir = temporaryFolder();
  const end = { before: '2026-10-21T00:00:00.000Z', through: 4 };
  const row = (key: string, deletedAt: string, seq: number): Row => ({
    key,
    dataset: 'persons',
    person_uuid: key,
    reason: 'erased',
    deleted_at: deletedAt,
    request_id: null,
    seq,
  });
  const rows = [
    row('a', '2026-10-01T00:00:00.000Z', 1),
    row('b', '2026-10-20T23:59:59.999999Z', 4),
    row('c', '2026-10-21T00:00:00Z', 3),
    row('d', '2026-11-20T00:00:00Z', 2),
    row('e', '2026-10-01T00:00:00.000Z', 5),
  ];
  await publishRows(dataDir, 'deletions', rows, { partRows: 3 });
  await publishRows(dataDir, 'deletions', rows.slice(2));
  await publishRows(dataDir, 'persons', [personRow('a')]);
  expect(await expireDeletions(publishedFilesIn(dataDir), end, options)).toEqual([
    { snapshotId: first, name: part, newName: 'part-00003.parquet', rowsBefore: 3, rowsRemoved: 2, rowsRemovedOf: [] },
  ]);
  const keys = async (id: string): Promise<unknown[]> =>
    (await rowsOfSnapshot(dataDir, 'deletions', id)).parts.flat().map(({ key }) => key);
  expect([await keys(first), await keys(second)]).toEqual([
    ['c', 'd', 'e'],
    ['c', 'd', 'e'],
  ]);
  expect(await expireDeletions(publishedFilesIn(dataDir), end, options)).toEqual([]);
  expect((await verifySnapshots(publishedFilesIn(dataDir))).problems).toEqual([]);
});
