import {
  appendFileSync,
  cpSync,
  existsSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { nobody } from '../../../src/contract/identity.ts';
import { scanDataFolder } from '../../../src/erasure/scan/scan.ts';
import { removeUnnamedParts } from '../../../src/snapshot/publish.ts';
import { rewriteSnapshot } from '../../../src/snapshot/rewrite.ts';
import { verifySnapshots } from '../../../src/snapshot/verify.ts';
import { datasetFolder } from '../paths.ts';
import { readIcebergTable } from './table-reader.ts';
import { openTableWorld, type TableStep } from './table-world.ts';
import { reuseDuckDb } from '../one-duckdb.ts';

reuseDuckDb();

const show = (name: string, ...numbers: number[]): TableStep => ({ do: 'show', name, numbers });
const full: TableStep = { do: 'export', kind: 'full' };
const delta: TableStep = { do: 'export', kind: 'delta' };

/** A table of persons, after some steps. */
async function openTable(...steps: readonly TableStep[]) {
  const world = openTableWorld(['persons', 'deletions']);
  for (const step of steps) await world.perform(step);
  const folder = datasetFolder(world.dataDir, 'persons');
  return { ...world, folder, metadata: join(folder, 'metadata') };
}

test('a person who left and came back between two deltas stays, and one who left after that goes', async () => {
  const world = await openTable(show('a', 1, 2, 3), full, { do: 'remove', number: 1 }, delta, show('b', 1), delta);
  await world.check();
  const { rows, snapshotIds } = await readIcebergTable(world.folder);
  expect(rows.map(({ person_id: id, name }) => [id, name])).toEqual([
    [2n, 'a'],
    [3n, 'a'],
    [1n, 'b'],
  ]);
  expect(world.counts.delta).toBe(2);
  const looked = await Promise.all(
    snapshotIds.map(async (id) => (await readIcebergTable(world.folder, id)).rows.length),
  );
  expect(looked).toEqual([3, 2, 3]);
  await world.perform({ do: 'remove', number: 1 });
  await world.perform(delta);
  await world.check();
});

test('many deltas write little each, and each is what was published, also after an erasure between them', async () => {
  const world = await openTable(show('a', 1, 2, 3, 4, 5, 6, 7, 8), full);
  const sizes: number[] = [];
  for (let nth = 1; nth <= 34; nth += 1) {
    const before = new Set(readdirSync(world.metadata));
    if (nth % 5 === 0) await world.perform({ do: 'remove', number: (nth % 6) + 1 });
    // The first delta that a manifest has is one of rows that are gone only.
    if (![4, 14].includes(nth)) await world.perform(show(nth % 2 === 0 ? 'b' : 'c', (nth % 7) + 1));
    else await world.perform({ do: 'remove', number: (nth % 7) + 1 });
    await world.perform(delta);
    if (nth === 3) await world.perform({ do: 'erase', numbers: [8] });
    // Each look reads all snapshots.
    if ([2, 3, 4, 13, 14, 24, 34].includes(nth)) await world.check();
    const added = readdirSync(world.metadata).filter((name) => !before.has(name) && !name.endsWith('.json'));
    sizes.push(added.reduce((sum, name) => sum + statSync(join(world.metadata, name)).size, 0));
  }
  expect(world.counts.delta).toBe(34);
  // Manifests hold ten deltas at most: what the last ten deltas wrote is about what ten before them did.
  const sum = (some: readonly number[]): number => some.reduce((total, size) => total + size, 0);
  expect(sum(sizes.slice(23, 33))).toBeLessThan(1.1 * sum(sizes.slice(13, 23)));
});

test('an erasure moves the rows that readers pass over, in each snapshot that is kept, and changes the names of files', async () => {
  const world = await openTable(show('a', 1, 2, 3, 4, 5, 6), full, show('b', 2, 6), { do: 'remove', number: 5 }, delta);
  const before = readdirSync(world.metadata);
  await world.perform({ do: 'erase', numbers: [1, 4] });
  await world.check();
  const { snapshotIds } = await readIcebergTable(world.folder);
  const past = await Promise.all(snapshotIds.map(async (id) => (await readIcebergTable(world.folder, id)).rows));
  expect(past.map((rows) => rows.map(({ person_id: id }) => id))).toEqual([
    [2n, 3n, 5n, 6n],
    [3n, 2n, 6n],
  ]);
  expect(readdirSync(world.metadata).filter((name) => before.includes(name))).toEqual(['version-hint.text']);
});

test('an older folder that is put back goes on with files of other names, since readers keep what they have read by name', async () => {
  const world = await openTable(show('a', 1, 2, 3), full, show('b', 1, 2), delta, { do: 'copy' });
  const copied = new Set(readdirSync(world.metadata));
  const added = (): string[] => readdirSync(world.metadata).filter((name) => !copied.has(name) && /^\d/.test(name));
  await world.perform({ do: 'erase', numbers: [1] });
  const first = new Set(added());
  expect(first.size).toBeGreaterThan(3);
  await world.perform({ do: 'restore' });
  expect(added()).toHaveLength(first.size);
  expect(added().filter((name) => first.has(name))).toEqual([]);
  await world.check();
});

test('an erasure from one full snapshot leaves the files of others, and of deltas before it, as they are', async () => {
  const world = await openTable(show('a', 1, 2, 3), full, show('b', 2), delta, show('c', 3), delta, show('d', 1), full);
  const { snapshotIds: before } = await readIcebergTable(world.folder);
  const [, second = { id: '' }] = world.published.listSnapshots('persons');
  const identity = { ...nobody, person_uuid: ['00000000-0000-4000-8000-000000000002'] };
  const { signal } = new AbortController();
  const made = readdirSync(world.metadata).filter((name) => name.startsWith(String(before[1])));
  await rewriteSnapshot(world.published, 'persons', second.id, ['part-00001.parquet'], [identity], {
    epoch: 9,
    signal,
  });
  const { snapshotIds: after } = await readIcebergTable(world.folder);
  expect(after.map((id, nth) => id === before[nth])).toEqual([true, false, false, true]);
  expect(made).not.toHaveLength(0);
  expect(readdirSync(world.metadata).filter((name) => made.includes(name))).toEqual([]);
  const past = await Promise.all(after.map(async (id) => (await readIcebergTable(world.folder, id)).rows.length));
  // The delta has changed the person, whose older row is still that of the full snapshot.
  expect(past).toEqual([3, 2, 2, 3]);
});

test('the numbers of columns stay those of the files: a promoted column that comes back is another one', async () => {
  const world = await openTable();
  const idsOf = async (): Promise<Record<string, number>> => {
    const { metadata } = await readIcebergTable(world.folder);
    const schema = metadata.schemas.find((each) => each['schema-id'] === metadata['current-schema-id']);
    return Object.fromEntries((schema?.fields ?? []).map(({ name, id }) => [name, id]));
  };
  const numbers: (number | undefined)[] = [];
  for (const keys of [['plan'], [], ['plan']]) {
    for (const step of [show(keys.join(), 1, 2), { do: 'promote', keys } as const, delta]) await world.perform(step);
    await world.check();
    numbers.push((await idsOf())['property_plan']);
  }
  expect(numbers).toEqual([10, undefined, 12]);
  expect(await idsOf()).toMatchObject({ person_uuid: 1, distinct_ids: 4, properties: 6 });
});

test('the key is required, and identifies rows', async () => {
  const world = await openTable(show('a', 1), full);
  const { metadata } = await readIcebergTable(world.folder);
  expect(metadata.schemas).toMatchObject([
    {
      'identifier-field-ids': [1],
      fields: [{ name: 'person_uuid', required: true }, { required: false }, {}, {}, {}, {}, {}, {}, { name: '_seq' }],
    },
  ]);
});

test.for<[string, (metadata: string, parts: string) => void, string, string]>([
  ['a manifest with another byte', (metadata, parts) => appendFileSync(join(metadata, parts), 'x'), 'PARTS', 'size'],
  ['a manifest that is missing', (metadata, parts) => rmSync(join(metadata, parts)), 'PARTS', 'missing'],
  ['a hint that is missing', (metadata) => rmSync(join(metadata, 'version-hint.text')), 'version-hint.text', 'missing'],
  [
    'a hint of no version',
    (metadata) => writeFileSync(join(metadata, 'version-hint.text'), '7'),
    'version-hint.text',
    'damaged',
  ],
  [
    'a stray file',
    (metadata, parts) => cpSync(join(metadata, parts), join(metadata, '9-parts.avro')),
    '9-parts.avro',
    'unnamed',
  ],
])('%s is found, and mended by the next export', async ([, damage, file, problem]) => {
  const world = await openTable(show('a', 1, 2), full);
  const parts = readdirSync(world.metadata).find((name) => name.endsWith('-parts.avro')) ?? '';
  damage(world.metadata, parts);
  const name = file === 'PARTS' ? parts : file;
  expect((await verifySnapshots(world.published)).problems).toEqual([
    { dataset: 'persons', snapshotId: 'metadata', file: name, problem },
  ]);
  await world.perform(show('b', 1));
  await world.perform(delta);
  // A hint or a stray file is no damage of the table.
  await world.check({ isAnew: file === 'PARTS' });
});

test('metadata of before an erasure, put back, are no table: they are found, and removed', async () => {
  const world = await openTable(show('a', 1, 2), full);
  const kept = `${world.dataDir}-kept`;
  cpSync(join(world.dataDir, 'snapshots'), kept, { recursive: true });
  await world.perform({ do: 'erase', numbers: [1] });
  // All of the table, and CURRENT with it.
  rmSync(world.metadata, { recursive: true });
  cpSync(join(kept, 'persons/metadata'), world.metadata, { recursive: true });
  cpSync(join(kept, 'CURRENT.json'), join(world.dataDir, 'snapshots/CURRENT.json'));
  rmSync(kept, { recursive: true });
  expect((await verifySnapshots(world.published)).problems).toMatchObject([
    { file: 'v1.metadata.json', problem: 'damaged' },
  ]);
  removeUnnamedParts(world.published);
  expect(existsSync(world.metadata)).toBe(false);
  expect((await verifySnapshots(world.published)).problems).toEqual([]);
  await world.perform(delta);
  await world.check({ isAnew: true });
});

test('without tables nothing of them is left, and a table that is to lie elsewhere is made again', async () => {
  const world = await openTable(show('a', 1, 2), full);
  Object.assign(world.options, { publicRoot: 's3://lake/mirror/' });
  await world.perform(delta);
  const { metadata, rows } = await readIcebergTable(world.folder);
  expect([metadata.location, metadata.snapshots.length, rows.length]).toEqual(['s3://lake/mirror/persons', 1, 2]);
  Object.assign(world.options, { iceberg: false });
  await world.perform(delta);
  expect(existsSync(world.metadata)).toBe(false);
  expect(world.published.readCurrent().tables).toBeUndefined();
  expect((await verifySnapshots(world.published)).problems).toEqual([]);
});

test('a folder that is reached by its path or through a link has one table, at one place', async () => {
  const world = await openTable();
  const link = `${world.dataDir}-link`;
  symlinkSync(world.dataDir, link);
  onTestFinished(() => rmSync(link));
  const locations = new Set<string>();
  for (const reachedBy of [link, world.dataDir, link, relative(process.cwd(), link)]) {
    Object.assign(world.options, { reachedBy });
    await world.perform(show(reachedBy, 1, 2));
    await world.perform(delta);
    await world.check();
    locations.add((await readIcebergTable(world.folder)).metadata.location);
  }
  expect([...locations]).toEqual([realpathSync(world.folder)]);
  expect(world.counts.delta).toBe(3);
});

test('the numbers and words of a table are nobody, and no row is found beside its parts', async () => {
  const world = await openTable(show('a', 5, 6, 7), full, show('b', 6), { do: 'remove', number: 7 }, delta);
  const scan = (identity: object) =>
    scanDataFolder({
      dataDir: world.dataDir,
      phase: 'verify',
      subjects: [
        { request: 'r', identity: { ...nobody, ...identity }, values: ['manifest_entry analytics-mirror.manifests'] },
      ],
      fence: false,
      extraPaths: [],
    });
  // Every word in the manifests but the names of files, some in the metadata, and numbers.
  const lists = readdirSync(world.metadata).filter((name) => name.endsWith('.avro'));
  const found = lists.flatMap((name) => readFileSync(join(world.metadata, name), 'latin1').match(/[ -~]{12,}/g) ?? []);
  const words = found.filter((word) => !/part-|-list|-deletes|\d{8}/.test(word));
  words.push('overwrite', 'current-snapshot-id', '/snapshots/persons/', 'POSITION_DELETES');
  expect(words).toEqual(expect.arrayContaining([expect.stringContaining('partition-spec-id')]));
  expect(readdirSync(world.metadata)).toContainEqual(expect.stringMatching(/-deletes\.parquet$/));
  const stranger = await scan({ person_id: ['0', '1', '2', '3', '4', '100', '134'], distinct_id: words });
  expect([stranger.unreadable, stranger.subjects[0]?.places]).toEqual([[], []]);
  const placesOf = async (identity: object) =>
    (await scan(identity)).subjects[0]?.places.map(({ place }) => place) ?? [];
  const places = await placesOf({ person_uuid: ['00000000-0000-4000-8000-000000000005'] });
  expect(places).not.toHaveLength(0);
  expect(places.filter((place) => place.includes('/metadata/') || place.endsWith('.json'))).toEqual([]);
  // What stands in a manifest besides its format is found all the same.
  const list = lists.find((name) => name.endsWith('-parts.avro')) ?? '';
  appendFileSync(join(world.metadata, list), 'ann@elsewhere.example');
  cpSync(join(world.metadata, list), join(world.dataDir, 'copy.avro'));
  expect(await placesOf({ distinct_id: ['ann@elsewhere.example'] })).toEqual([
    'copy.avro',
    `snapshots/persons/metadata/${list}`,
  ]);
  expect((await scan(nobody)).unreadable).toEqual([]);
});
