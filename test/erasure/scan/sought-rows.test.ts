import { expect, test } from 'vitest';
import { nobody, type Identity } from '../../../src/contract/identity.ts';
import { scanDataFolder } from '../../../src/erasure/scan/scan.ts';
import { soughtRows } from '../../../src/erasure/scan/sought-rows.ts';
import type { ScanReport } from '../../../src/erasure/scan/scan-task.ts';
import { openDatabase } from '../../../src/mirror/database.ts';
import type { Row } from '../../../src/snapshot/columns.ts';
import { exportDataset, exportRequest } from '../../export/export-fixture.ts';
import { freshFolder, putEmptyMirror, stillClock } from '../../mirror/open-test-mirror.ts';
import { personRow, recordingRow } from '../../snapshot/rows.ts';
import { insert, placesOf } from './canary.ts';

const uuidOf = (number: number): string => `0192f0c0-aaaa-7bbb-8ccc-${number.toString(16).padStart(12, '0')}`;
const bob = { name: 'Bob', distinct_ids: '["bob"]', properties: '{}' };
const persons: Row[] = [];
const recordings: Row[] = [];
const subjects: { request: string; identity: Identity; values: string[] }[] = [];
let number = 0;

function person(hers: Partial<Identity>, fields: Row): void {
  persons.push(personRow(uuidOf((number += 1)), { ...bob, id: 1000 + number, ...fields }));
  subjects.push({ request: String(subjects.length), identity: { ...nobody, ...hers }, values: [] });
}

function recording(hers: Partial<Identity>, fields: Row): void {
  const own = { distinct_id: 'bob', person: '{"uuid":null,"id":7}', person_uuid: null };
  recordings.push(recordingRow(`rec-${(number += 1)}`, { ...own, ...fields }));
  subjects.push({ request: String(subjects.length), identity: { ...nobody, ...hers }, values: [] });
}

// Each row is one subject's, and names it in another way.
person({ person_uuid: [uuidOf(900)] }, { uuid: uuidOf(900) });
person({ person_uuid: [uuidOf(0xabc)] }, { uuid: uuidOf(0xabc).toUpperCase() });
for (const id of ['al', '1', 'q"uote', 'back\\slash', 'ünï', 'UP', '{"a":1}', "o'brien", 'a\nb'])
  person({ distinct_id: [id] }, { distinct_ids: JSON.stringify(['bob', id]) });
person({ distinct_id: ['her-device-0001'] }, { name: 'her-device-0001' });
person({ person_uuid: [uuidOf(0xdef)] }, { name: uuidOf(0xdef).toUpperCase() });
recording({ recording_id: ['rec-x'] }, { id: 'rec-x' });
recording({ distinct_id: ['el'] }, { distinct_id: 'el' });
recording({ person_uuid: [uuidOf(0xabe)] }, { person_uuid: uuidOf(0xabe).toUpperCase() });
recording({ person_uuid: [uuidOf(0xabf)] }, { person: JSON.stringify({ uuid: uuidOf(0xabf).toUpperCase() }) });
recording({ person_id: ['4242'] }, { person: '{"uuid":null,"properties":{"id":1},"id":4242}' });
for (const [own, id] of [
  ['4243', '4243.0'],
  ['4244', '4.244e3'],
  ['4245', '[1,4245]'],
  ['4246', '1,"id":4246'],
  ['4247', ' 4247 '],
  ['4248', '"4248"'],
  ['4249', '1, "\\u0069d": 4249'],
  ['4250', '[42, 4.250E3]'],
] as const)
  recording({ person_id: [own] }, { person: `{"uuid":null,"id":${id}}` });
recording({ person_id: ['-42'] }, { person: '{"uuid":null,"id":-42}' });
for (const id of ['ol', 'UP', 'r"uote', 'beck\\slash', 'ünö'])
  recording({ distinct_id: [id] }, { person: JSON.stringify({ id: 7, uuid: uuidOf(1), distinct_ids: ['bob', id] }) });
recording({ distinct_id: ['her-device-0002'] }, { person: '{"id":7,"name":"her-device-0002"}' });
recording({ distinct_id: ['\\u0061lways escaped'] }, { person: '{"id":7,"distinct_ids":["\\\\u0061lways escaped"]}' });

test('whom a row names is found where SQL chooses the rows to judge, as where all are judged', async () => {
  const dataDir = freshFolder();
  putEmptyMirror(dataDir);
  const db = openDatabase(dataDir, stillClock);
  for (const [table, rows] of [
    ['persons', persons],
    ['recordings', recordings],
  ] as const)
    for (const row of rows) insert(db, table, { ...(row as Record<string, string>), first_seen_pass: 1 });
  for (const { identity } of subjects)
    for (const [index, key] of [...identity.person_uuid, ...identity.recording_id].entries())
      insert(db, 'changes', { dataset: 'persons', key, op: 'upsert', at: `2026-11-20T10:00:0${index}.000Z` });
  db.close();
  for (const [dataset, rows, key] of [
    ['persons', persons, 'uuid'],
    ['recordings', recordings, 'id'],
  ] as const)
    await exportDataset(
      exportRequest(dataDir, {
        dataset,
        rows: rows.toSorted((a, b) => (String(a[key]) < String(b[key]) ? -1 : 1)),
        settings: { partRows: 1000, keep: 2, promote: [], mask: [] },
      }),
    );
  const scan = (fence: boolean): Promise<ScanReport> =>
    scanDataFolder({ dataDir, phase: 'verify', subjects, fence, extraPaths: [] });
  const placesIn = (report: ScanReport): string[][] => subjects.map((_subject, index) => placesOf(report, index));
  // A scan that asks the fence judges every row.
  const all = placesIn(await scan(true));
  expect(placesIn(await scan(false))).toEqual(all);
  const isIn = (file: string): boolean[] =>
    all.map((places) => places.some((place) => place.startsWith('decoded ') && place.includes(file)));
  for (const file of ['mirror.db:', '.parquet:']) expect(isIn(file)).toEqual(subjects.map(() => true));
});

test.each([['a\0b'], ['\ud800'], ['a\ufffd']])('every row is judged where SQL would spell an identifier anew', (id) => {
  const subject = { request: 'r', values: [], identity: { ...nobody, distinct_id: [id] } };
  expect(soughtRows([subject])).toBeUndefined();
  expect(soughtRows(subjects)).toBeDefined();
});

test.each([
  ['persons', 'distinct_ids', 'VARCHAR'],
  ['persons', 'distinct_ids', 'VARCHAR[][]'],
  ['persons', 'id', 'DOUBLE'],
  ['recordings', 'person', 'STRUCT(id VARCHAR)'],
  ['persons', 'File_Row_Number', 'INTEGER'],
])('every row of %s is judged where a column %s has the type %s', (dataset, column, type) => {
  const own = new Map(
    Object.entries({ id: 'BIGINT', uuid: 'VARCHAR', distinct_id: 'VARCHAR', distinct_ids: 'VARCHAR[]' }),
  );
  const { textsOf } = soughtRows(subjects)?.inParquet(dataset) ?? {};
  expect(textsOf?.(own)).toBeDefined();
  expect(textsOf?.(new Map([...own, [column, type]]))).toBeUndefined();
});
