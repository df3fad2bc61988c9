import { rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Identity, nobody } from '../../src/contract/identity.ts';
import { snapshotFolder } from './paths.ts';
import { locateIdentity, searchIdentity } from '../../src/snapshot/subject-rows.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { exportDataset, exportRequest, listAll } from '../export/export-fixture.ts';
import { publishRows } from './publish-rows.ts';
import { personRow, recordingRow } from './rows.ts';
import { temporaryFolder } from './temporary-folder.ts';

const { signal } = new AbortController();
const first = '20261120T125500.123Z';
const second = '20261120T125500.124Z';

const ann = personRow('a', {
  id: 1,
  distinct_ids: JSON.stringify(['ann@x', 'device']),
  properties: '{"email":"ann@x","plan":"pro"}',
  extra: '{"note":"n"}',
});
const joann = personRow('j', { id: 11, name: 'Jo', distinct_ids: JSON.stringify(['joann@x', 'device']) });

async function where(dataDir: string, identity: Partial<Identity>): Promise<string[]> {
  const { parts } = await locateIdentity(publishedFilesIn(dataDir), { ...nobody, ...identity }, { signal });
  return parts.flatMap(({ dataset, snapshotId, name, found }) =>
    found.map(
      ({ person_uuid: uuid, recording_id: id, distinct_ids: ids }) =>
        `${dataset}/${snapshotId}/${name}: ${uuid ?? '-'} ${id ?? '-'} ${ids.join()}`,
    ),
  );
}

test('a row is found with all that it says, and what was searched is told', async () => {
  const dataDir = temporaryFolder();
  await publishRows(dataDir, 'persons', [ann, joann], { promote: ['plan'] });
  const bytes = publishedFilesIn(dataDir).readManifest({ dataset: 'persons', snapshotId: first }).files[0]?.bytes;
  const located = await locateIdentity(publishedFilesIn(dataDir), { ...nobody, person_id: ['1'] }, { signal });
  expect(located).toEqual({
    searched: { files: 1, rows: 2, bytes },
    parts: [
      {
        dataset: 'persons',
        snapshotId: first,
        name: 'part-00001.parquet',
        rows: 2,
        found: [
          {
            person_uuid: 'a',
            person_id: '1',
            distinct_ids: ['ann@x', 'device'],
            recording_id: null,
            values: ['Ann', '{"email":"ann@x","plan":"pro"}', '{"note":"n"}', 'pro'],
            email: 'ann@x',
          },
        ],
      },
    ],
  });
});

test('every generation and every part is searched', async () => {
  const dataDir = temporaryFolder();
  const rows = ['b', 'c', 'd', 'e', 'f'].map((key) => personRow(key, { id: 5 }));
  await publishRows(dataDir, 'persons', [ann, ...rows, joann], { partRows: 3 });
  await publishRows(dataDir, 'persons', [...rows, joann], { partRows: 3 });
  expect(await where(dataDir, { person_uuid: ['a'] })).toEqual([
    `persons/${first}/part-00001.parquet: a - ann@x,device`,
  ]);
  expect(await where(dataDir, { distinct_id: ['device'] })).toEqual([
    `persons/${first}/part-00001.parquet: a - ann@x,device`,
    `persons/${first}/part-00003.parquet: j - joann@x,device`,
    `persons/${second}/part-00002.parquet: j - joann@x,device`,
  ]);
});

test('id 1 is not 11, nor ann@x joann@x', async () => {
  const dataDir = temporaryFolder();
  await publishRows(dataDir, 'persons', [joann]);
  expect(await where(dataDir, { person_id: ['1', '01', '+11', 'NaN'], distinct_id: ['ann@x', ''] })).toEqual([]);
  expect(await where(dataDir, { person_id: ['11'] })).toHaveLength(1);
});

test('somebody who is looked for by integer id is found beside others of whom a uuid is known', async () => {
  const dataDir = temporaryFolder();
  await publishRows(dataDir, 'persons', [personRow('a', { id: 4 }), personRow('b', { id: 5 })]);
  const found: (string | null)[] = [];
  const onRow = (_part: unknown, row: { person_uuid: string | null }): void => void found.push(row.person_uuid);
  const several = { ...nobody, person_uuid: ['a'], person_id: ['5'] };
  await searchIdentity(publishedFilesIn(dataDir), several, { signal, onRow });
  expect(found).toEqual(['a', 'b']);
});

test('recordings are found by id, person, distinct id, and by a distinct id, or a name that is one, of the person they embed', async () => {
  const dataDir = temporaryFolder();
  const embedded = (ids: unknown): string => JSON.stringify({ id: 9, uuid: 'p9', distinct_ids: ids });
  await publishRows(
    dataDir,
    'recordings',
    [
      recordingRow('r1', { distinct_id: 'd1', person_uuid: 'p1', person: null }),
      recordingRow('r2', { distinct_id: 'd2', person_uuid: 'p2', person: embedded(String.raw`q"\u`) }),
      recordingRow('r3', { distinct_id: 'd3', person_uuid: 'p3', person: embedded(['😀', 'd9']) }),
      recordingRow('r4', { distinct_id: 'd4', person_uuid: 'p4', person: '{"name":"d9"}' }),
    ],
    { partRows: 10 },
  );
  const found = async (identity: Partial<Identity>): Promise<(string | undefined)[]> =>
    (await where(dataDir, identity)).map((line) => line.split(' ')[2]);
  expect(await found({ recording_id: ['r1'] })).toEqual(['r1']);
  expect(await found({ person_uuid: ['p2', 'p4'] })).toEqual(['r2', 'r4']);
  expect(await found({ distinct_id: ['d3'] })).toEqual(['r3']);
  expect(await found({ distinct_id: [String.raw`q"\u`] })).toEqual(['r2']);
  expect(await found({ distinct_id: ['d9'] })).toEqual(['r3', 'r4']);
  expect(await found({ distinct_id: ['😀'] })).toEqual(['r3']);
  const { parts } = await locateIdentity(publishedFilesIn(dataDir), { ...nobody, recording_id: ['r3'] }, { signal });
  expect(parts[0]?.found[0]).toMatchObject({
    person_uuid: 'p3',
    person_id: '9',
    distinct_ids: ['d3', '😀', 'd9'],
    recording_id: 'r3',
    values: expect.arrayContaining(['eve', 'https://example.com/?q=ü', embedded(['😀', 'd9'])]) as string[],
  });
});

test('generations with other columns are searched together, also where a column has a name that the writer of files uses', async () => {
  const dataDir = temporaryFolder();
  await publishRows(dataDir, 'persons', [ann, joann], { partRows: 1 });
  await publishRows(dataDir, 'persons', [ann, joann], { promote: ['plan'] });
  const third = await publishRows(dataDir, 'persons', [ann, joann], {
    promote: [{ property: 'plan', as: 'row_text', type: 'string' }],
  });
  const places = [`${first}/part-00001.parquet`, `${second}/part-00001.parquet`, `${third}/part-00001.parquet`];
  const line = (place: string): string => `persons/${place}: a - ann@x,device`;
  expect(await where(dataDir, { person_uuid: ['a'] })).toEqual(places.map(line));
  expect(await where(dataDir, { person_id: ['1'] })).toEqual(places.map(line));
  expect(await where(dataDir, { distinct_id: ['ann@x'] })).toEqual(places.map(line));
});

test('distinct ids are found by either column; the feed of deletions is not searched', async () => {
  const dataDir = temporaryFolder();
  await publishRows(dataDir, 'distinct_ids', [
    { distinct_id: 'd1', person_uuid: 'p1' },
    { distinct_id: 'd2', person_uuid: 'p2' },
  ]);
  const feed = { dataset: 'persons', reason: 'erased', deleted_at: '2026-11-20T10:00:00Z', request_id: null, seq: 1 };
  await publishRows(dataDir, 'deletions', [{ key: 'p1', person_uuid: 'p1', ...feed }]);
  const line = `distinct_ids/${first}/part-00001.parquet:`;
  expect(await where(dataDir, { distinct_id: ['d2'] })).toEqual([`${line} p2 - d2`]);
  expect(await where(dataDir, { person_uuid: ['p1'] })).toEqual([`${line} p1 - d1`]);
});

test('thousands of identifiers, quotes, zero bytes and broken Unicode among them', async () => {
  const dataDir = temporaryFolder();
  const odd = ["it's", '"; DROP TABLE subject; --', 'nul \0', '\n', '😀', 'ü', '\\'];
  await publishRows(
    dataDir,
    'persons',
    odd.map((id, index) => personRow(`p${index}`, { distinct_ids: JSON.stringify([id]) })),
    { partRows: 100 },
  );
  const many = Array.from({ length: 5000 }, (_, index) => `other ${index}`);
  expect(await where(dataDir, { distinct_id: [...many, '\ud800', ...odd], person_uuid: many })).toHaveLength(
    odd.length,
  );
});

test.for(['nul \0 id', 'broken \ud800'])(
  'a recording that names %j is found, although the file has it in a spelling that engines read',
  async (id) => {
    const dataDir = temporaryFolder();
    const person = JSON.stringify({ id: 9, name: 'Bob', distinct_ids: ['bob', id], properties: {} });
    await publishRows(dataDir, 'recordings', [recordingRow('r1', { person_uuid: 'b', distinct_id: 'bob', person })]);
    expect(await where(dataDir, { distinct_id: [id] })).toHaveLength(1);
    expect(await where(dataDir, { distinct_id: ['broken'] })).toEqual([]);
  },
);

test('what deltas say of each row is no text of the person: a scan would find it in every manifest', async () => {
  const dataDir = temporaryFolder();
  await publishRows(dataDir, 'persons', [ann]);
  const delta = exportRequest(dataDir, {
    dataset: 'persons',
    rows: [ann],
    continues: { basedOn: first, deletions: first },
  });
  const { snapshotId } = await exportDataset(delta);
  const { parts } = await locateIdentity(publishedFilesIn(dataDir), { ...nobody, person_uuid: ['a'] }, { signal });
  expect(parts.map((part) => part.snapshotId)).toEqual([first, snapshotId]);
  expect(parts[1]?.found).toEqual(parts[0]?.found);
});

test('nothing published and nobody looked for: nothing found', async () => {
  const dataDir = temporaryFolder();
  expect(await locateIdentity(publishedFilesIn(dataDir), { ...nobody, person_id: ['1'] }, { signal })).toEqual({
    searched: { files: 0, rows: 0, bytes: 0 },
    parts: [],
  });
  await publishRows(dataDir, 'persons', [ann]);
  const { searched, parts } = await locateIdentity(publishedFilesIn(dataDir), nobody, { signal });
  expect([searched.rows, parts]).toEqual([1, []]);
});

test('a part that is missing or damaged stops the search for somebody who is in another', async () => {
  const dataDir = temporaryFolder();
  await publishRows(dataDir, 'recordings', [recordingRow('r1'), recordingRow('r2'), recordingRow('r3')], {
    partRows: 1,
  });
  const path = join(snapshotFolder(dataDir, 'recordings', first), 'part-00003.parquet');
  const { bytes } = publishedFilesIn(dataDir).readManifest({ dataset: 'recordings', snapshotId: first }).files[2] ?? {
    bytes: 0,
  };
  expect(await where(dataDir, { recording_id: ['r2'] })).toHaveLength(1);
  writeFileSync(path, Buffer.alloc(bytes));
  await expect(where(dataDir, { recording_id: ['r2'] })).rejects.toMatchObject({ code: 'storage' });
  rmSync(path);
  await expect(where(dataDir, { recording_id: ['r2'] })).rejects.toMatchObject({ code: 'storage' });
});

test.for([
  ['missing', (path: string) => rmSync(path), 'is missing'],
  ['cut short', (path: string) => truncateSync(path, 10), 'has 10 bytes, published were'],
  [
    'no Parquet',
    (path: string, bytes: number) => writeFileSync(path, Buffer.alloc(bytes, 7)),
    'cannot be read: Invalid Input Error',
  ],
] as const)('a file of any generation that is %s stops the search', async ([, damage, message]) => {
  const dataDir = temporaryFolder();
  await publishRows(dataDir, 'persons', [ann]);
  await publishRows(dataDir, 'persons', [joann]);
  const path = join(snapshotFolder(dataDir, 'persons', first), 'part-00001.parquet');
  damage(path, publishedFilesIn(dataDir).readManifest({ dataset: 'persons', snapshotId: first }).files[0]?.bytes ?? 0);
  await expect(where(dataDir, { distinct_id: ['ann@x'] })).rejects.toMatchObject({
    code: 'storage',
    message: expect.stringContaining(`the published file persons/${first}/part-00001.parquet ${message}`) as string,
    hint: expect.stringMatching(/restore it .*, or export persons again/) as string,
  });
});

test('a damaged manifest of any generation stops the search', async () => {
  const dataDir = temporaryFolder();
  await publishRows(dataDir, 'persons', [ann]);
  await publishRows(dataDir, 'persons', [joann]);
  writeFileSync(join(snapshotFolder(dataDir, 'persons', first), 'manifest.json'), '{}');
  await expect(where(dataDir, { person_id: ['1'] })).rejects.toMatchObject({ code: 'storage' });
});

test('an abort ends the search with its reason, and nothing is ever written', async () => {
  const dataDir = temporaryFolder();
  await publishRows(dataDir, 'persons', [ann, joann], { partRows: 1 });
  const before = listAll(dataDir);
  const controller = new AbortController();
  const reason = new Error('stop');
  const searching = locateIdentity(
    publishedFilesIn(dataDir),
    { ...nobody, person_id: ['1'] },
    { signal: controller.signal },
  );
  controller.abort(reason);
  await expect(searching).rejects.toBe(reason);
  expect(listAll(dataDir)).toEqual(before);
});
