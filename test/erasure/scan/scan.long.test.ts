import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { basename, join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { nobody } from '../../../src/contract/identity.ts';
import type { PublishedDataset } from '../../../src/contract/datasets.ts';
import { scanDataFolder } from '../../../src/erasure/scan/scan.ts';
import type { ScanReport, ScanTask } from '../../../src/erasure/scan/scan-task.ts';
import { canonicalJson } from '../../../src/ledger/canonical-json.ts';
import { checkpointText } from '../../../src/ledger/checkpoint.ts';
import { privateKeyOf, publicKeyOf, vkeyOf } from '../../../src/ledger/note.ts';
import { openDatabase, type Database } from '../../../src/mirror/database.ts';
import { identifiersIn } from '../../../src/contract/identity.ts';
import { fenceIdentifiers } from '../../../src/mirror/fence.ts';
import type { Row } from '../../../src/snapshot/columns.ts';
import { openDuckDb, sqlText } from '../../../src/snapshot/duckdb.ts';
import { exportDataset, exportRequest } from '../../export/export-fixture.ts';
import { freshFolder, putEmptyMirror, stillClock } from '../../mirror/open-test-mirror.ts';
import { verifierPage } from '../../../src/ledger/verify.ts';
import { personRow, recordingRow } from '../../snapshot/rows.ts';
import { tarOf, zipOf } from './packed.ts';
import { addPeople, insert, personOf, placesOf, removePeople, subjectOf, type Person } from './canary.ts';
import { reuseDuckDb } from '../../snapshot/one-duckdb.ts';

reuseDuckDb();

const canary = personOf('canarybird', 17, 9000);
const others = Array.from({ length: 40 }, (_, index) => personOf(`other${index}`, 1000 + index));

/** Changes the mirror, and closes it again: the scanner may not run beside an open one in one process. */
function inMirror(dataDir: string, change: (db: Database) => void): void {
  const db = openDatabase(dataDir, stillClock);
  try {
    change(db);
  } finally {
    db.close();
  }
}

/** A data folder that holds some people, and nothing else. */
function folderOf(...people: Person[]): string {
  const dataDir = freshFolder();
  putEmptyMirror(dataDir);
  inMirror(dataDir, (db) => addPeople(db, people));
  return dataDir;
}

/** Scans twice: where each row is judged, since each is held against the fence, and where SQL chooses the rows. */
async function scan(dataDir: string, task: Partial<ScanTask> = {}): Promise<ScanReport> {
  const whole = {
    dataDir,
    phase: 'verify',
    subjects: [subjectOf(canary)],
    fence: true,
    extraPaths: [],
    ...task,
  } as const;
  const report = await scanDataFolder(whole);
  const { subjects, unreadable } = await scanDataFolder({ ...whole, fence: false });
  expect(subjects.map(({ places }) => places)).toEqual(report.subjects.map(({ places }) => places));
  expect(unreadable).toEqual(report.unreadable);
  return report;
}

function write(dataDir: string, place: string, content: string | Buffer): void {
  mkdirSync(join(dataDir, place, '..'), { recursive: true, mode: 0o700 });
  writeFileSync(join(dataDir, place), content, { mode: 0o600 });
}

async function publish(dataDir: string, dataset: PublishedDataset, rows: Iterable<Row>) {
  const settings = { partRows: 1000, keep: 2, promote: [], mask: [] };
  const { snapshotId } = await exportDataset(exportRequest(dataDir, { dataset, rows, settings }));
  return `snapshots/${dataset}/${snapshotId}`;
}

const publishedPerson = ({ row }: Person) => personRow(String(row['uuid']), row);

describe('a folder without the person', () => {
  it('is clean, and the report says what was searched', async () => {
    const report = await scan(folderOf(...others));
    expect(report).toMatchObject({ files: 1, fenced: [], unreadable: [] });
    expect(report.encodings).toEqual(['utf-8', 'json', 'percent', 'base64', 'hex', 'latin-1', 'utf-16']);
    expect(report.rows).toBeGreaterThan(160);
    expect(report.bytes).toBeGreaterThan(50_000);
    const [subject] = report.subjects;
    expect(subject).toMatchObject({ request: 'request of 17', hits: 0, places: [] });
    expect(subject?.needles).toBeGreaterThan(10_000);
    // What all people's addresses and times have in common.
    expect(subject?.shared).toBeGreaterThan(10);
    expect(subject?.shared).toBeLessThan(1000);
  });
});

describe('a person is found', () => {
  it('in every column of the mirror that says who it is, and in its bytes', async () => {
    const report = await scan(folderOf(...others, canary));
    expect(placesOf(report)).toEqual([
      'decoded mirror.db:distinct_id_owners.distinct_id',
      'decoded mirror.db:persons.distinct_ids',
      'decoded mirror.db:persons.id',
      'decoded mirror.db:persons.properties',
      'decoded mirror.db:persons.uuid',
      'decoded mirror.db:recordings.distinct_id',
      'decoded mirror.db:recordings.id',
      'decoded mirror.db:recordings.person',
      'decoded mirror.db:recordings.person_uuid',
      'raw json mirror.db',
      'raw percent mirror.db',
      'raw utf-8 mirror.db',
    ]);
  });

  const { properties, name } = canary.row;
  const text = (JSON.parse(String(properties)) as { unicode: string }).unicode;
  const planted: [string, string, string | Buffer, string[]][] = [
    ['a draft', 'tmp/snapshot-persons-x/part-00001.draft', String(properties), ['json', 'utf-8']],
    ['a report', 'reports/day.html', `<p>${String(name)}</p>`, ['utf-8']],
    ['a log', 'logs/mirror.log', `{"error":${JSON.stringify(text)}}\n`, ['utf-8']],
    ['a log of addresses', 'logs/access.log', `GET /?q=${encodeURIComponent(text)}`, ['percent', 'utf-8']],
    ['base64', 'base64', Buffer.from(`..${text}`).toString('base64'), ['base64']],
    ['hex', 'hex', Buffer.from(text).toString('hex'), ['hex']],
    ['UTF-16', 'little.txt', Buffer.from(`name\r\n${text}\r\n`, 'utf16le'), ['utf-16']],
    ['UTF-16, the big end first', 'big.txt', Buffer.from(`name\r\n${text}\r\n`, 'utf16le').swap16(), ['utf-16']],
    ['UTF-16 with a mark', 'marked.txt', Buffer.from(`\ufeff${text}`, 'utf16le'), ['utf-16']],
    ['JSON lines that are none', 'snapshots/notes.jsonl', `{"a":1}\n{"a": ${text}`, ['utf-8']],
    ['a file that no one knows of', 'a/b/c/d', `${'x'.repeat(3_000_000)}${text}`, ['utf-8']],
  ];

  /** What is found in a folder of all of those files, and once they are empty. */
  let plantedScans: Promise<[string[], string[]]> | undefined;
  async function scanPlanted(): Promise<[string[], string[]]> {
    const dataDir = folderOf(...others);
    for (const [, place, content] of planted) write(dataDir, place, content);
    const found = placesOf(await scan(dataDir));
    for (const [, place] of planted) writeFileSync(join(dataDir, place), '');
    return [found, placesOf(await scan(dataDir))];
  }

  it.each(planted)('in %s', async (_what, place, _content, encodings) => {
    plantedScans ??= scanPlanted();
    const [found, leftOver] = await plantedScans;
    const foundHere = found.filter((one) => one.endsWith(` ${place}`));
    expect(foundHere).toEqual(expect.arrayContaining(encodings.map((encoding) => `raw ${encoding} ${place}`)));
    expect(leftOver).toEqual([]);
  });

  it('in those files only', async () => {
    const [found] = await (plantedScans ??= scanPlanted());
    const places = new Set(planted.map(([, place]) => place));
    expect(found.filter((one) => !places.has(one.split(' ').at(-1) ?? ''))).toEqual([]);
  });

  it('in quarantine, by any of her identifiers; what nobody can be told from is another’s text', async () => {
    const dataDir = folderOf(...others);
    const row = { reason: 'x', first_seen_pass: 1, last_seen_pass: 1, seen_at: 'x' };
    inMirror(dataDir, (db) => {
      const damaged = JSON.stringify({ uuid: 'damaged', id: 'damaged', note: text });
      insert(db, 'quarantine', { dataset: 'persons', row_id: 'a', payload: damaged, ...row });
      insert(db, 'quarantine', { dataset: 'persons', row_id: 'b', payload: '{"id":17}', ...row });
      insert(db, 'quarantine', { dataset: 'playlists', row_id: 'c', payload: '{"id":17}', ...row });
    });
    const report = await scan(dataDir);
    expect(placesOf(report)).toEqual(['decoded mirror.db:quarantine.payload']);
    expect(report.subjects[0]?.places[0]?.hits).toBe(1);
    inMirror(dataDir, (db) => {
      const hers = JSON.stringify({ uuid: 'damaged', who: [canary.distinctIds[0]], note: `${text} once more` });
      insert(db, 'quarantine', { dataset: 'persons', row_id: 'd', payload: hers, ...row });
      db.exec(`DELETE FROM quarantine WHERE row_id = 'a'`);
    });
    expect(placesOf(await scan(dataDir))).toEqual(['decoded mirror.db:quarantine.payload', 'raw utf-8 mirror.db']);
  });

  it('in the cursor of a pass, in JSON and JSON lines, and in a list of people with short names only', async () => {
    const short = { request: 'r', identity: { ...nobody, person_id: ['5'], distinct_id: ['al'] }, values: [] };
    const dataDir = folderOf(...others);
    write(dataDir, 'reports/a.json', '{"people":[{"distinct_ids":["al"]}]}');
    write(dataDir, 'reports/b.jsonl', '{"al":"al"}\n{"person_id":5}\n');
    write(dataDir, 'reports/c.json', '{"person_id":55,"distinct_id":"pal","word":"al"}');
    expect(placesOf(await scan(dataDir, { subjects: [short] }))).toEqual([
      'decoded reports/a.json',
      'decoded reports/b.jsonl',
    ]);
  });

  it('in the name of a file, which the report does not repeat', async () => {
    const dataDir = folderOf(...others);
    write(dataDir, `reports/${canary.distinctIds[0]}/export.txt`, 'canarybird-device-17');
    const report = await scan(dataDir);
    expect(placesOf(report)).toEqual(['raw utf-8 reports/(a name)', 'raw utf-8 reports/(a name)/export.txt']);
    expect(JSON.stringify(report)).not.toContain('canarybird');
  });

  it('as often as her text stands there', async () => {
    const dataDir = folderOf(...others);
    write(dataDir, 'once.txt', text);
    write(dataDir, 'thrice.txt', [text, text, text].join('\n'));
    const [subject] = (await scan(dataDir)).subjects;
    const [once, thrice] = subject?.places ?? [];
    expect(once).toMatchObject({ place: 'once.txt', how: 'raw' });
    expect(thrice).toEqual({ ...once, place: 'thrice.txt', hits: 3 * (once?.hits ?? 0) });
  });

  it('outside the data folder, where that is asked for, each file once', async () => {
    const dataDir = folderOf(...others);
    const logs = freshFolder();
    writeFileSync(join(logs, 'out.log'), text);
    symlinkSync(join(logs, 'out.log'), join(logs, 'latest.log'));
    symlinkSync(dataDir, join(logs, 'data'));
    const report = await scan(dataDir, { extraPaths: [logs, join(dataDir, 'mirror.db')] });
    expect(placesOf(report)).toEqual([`raw utf-8 ${logs}/latest.log`]);
    expect(report.files).toBe(2);
  });

  it('by a file beside the keys, but never by the keys, which are not read', async () => {
    const dataDir = folderOf(...others);
    write(dataDir, 'keys/box.key', text);
    expect(placesOf(await scan(dataDir))).toEqual([]);
    const besides = ['keys/other.key', 'more/keys/box.key'];
    for (const place of besides) write(dataDir, place, text);
    expect(placesOf(await scan(dataDir))).toEqual(besides.map((place) => `raw utf-8 ${place}`));
  });
});

describe('in Parquet, a person is found', () => {
  it('in every column that says who it is and in the pages, and not beside them', async () => {
    const dataDir = folderOf(...others);
    const rows = [...others, canary].map(publishedPerson);
    const folder = await publish(
      dataDir,
      'persons',
      rows.toSorted((a, b) => (String(a['uuid']) < String(b['uuid']) ? -1 : 1)),
    );
    const found = placesOf(await scan(dataDir));
    const part = `${folder}/part-00001.parquet`;
    expect(found).toEqual(
      expect.arrayContaining([
        ...['distinct_ids', 'person_id', 'person_uuid', 'properties'].map((column) => `decoded ${part}:${column}`),
        `raw utf-8 ${part}`,
      ]),
    );
    expect(found.filter((place) => !place.includes(part))).toEqual([]);
  });

  it('by identifiers too short to be searched for', async () => {
    const dataDir = folderOf(...others);
    const rows = [recordingRow('rec-1', { distinct_id: 'al', person: null, person_uuid: null })];
    const folder = await publish(dataDir, 'recordings', rows);
    const al = { request: 'r', identity: { ...nobody, distinct_id: ['al'] }, values: [] };
    const ann = { request: 'r', identity: { ...nobody, distinct_id: ['an'] }, values: [] };
    const report = await scan(dataDir, { subjects: [al, ann] });
    expect(placesOf(report, 0)).toEqual([`decoded ${folder}/part-00001.parquet:distinct_id`]);
    expect(placesOf(report, 1)).toEqual([]);
  });

  it('in the footer; and a page that no row has any more is reported', async () => {
    const dataDir = folderOf(...others);
    const folder = await publish(dataDir, 'persons', others.map(publishedPerson));
    const part = join(dataDir, folder, 'part-00001.parquet');
    expect(placesOf(await scan(dataDir))).toEqual([]);
    const whole = readFileSync(part);
    const footer = whole.length - 8 - whole.readUInt32LE(whole.length - 8);
    const orphan = zstdCompressSync(Buffer.from(String(canary.row['properties']).repeat(2)));
    writeFileSync(part, Buffer.concat([whole.subarray(0, footer), orphan, whole.subarray(footer)]));
    const report = await scan(dataDir);
    expect(report.unreadable).toEqual([
      { place: `${folder}/part-00001.parquet`, reason: 'bytes of the file belong to no column' },
    ]);

    writeFileSync(part, whole);
    using duckDb = await openDuckDb({ folders: [dataDir], memoryMaxMb: 100, threads: 1 });
    await duckDb.connection.run(
      `COPY (SELECT 1 AS n) TO ${sqlText(join(dataDir, 'f.parquet'))} (FORMAT parquet, KV_METADATA {note: 'canarybird extra text'})`,
    );
    expect(placesOf(await scan(dataDir))).toEqual(['raw utf-8 f.parquet']);
  });

  it('in the pages of a part that its manifest does not name, whose rows vouch for nothing', async () => {
    const dataDir = folderOf(...others);
    const folder = await publish(dataDir, 'persons', others.map(publishedPerson));
    const properties = JSON.stringify({ friend: canary.distinctIds[0] });
    const hers = { name: String(canary.row['name']), properties };
    const stranger = [personRow('0190cccc-0000-7000-8000-000000000000', hers)];
    const elsewhere = freshFolder();
    const other = await publish(elsewhere, 'persons', stranger);
    write(dataDir, `${folder}/part-00009.parquet`, readFileSync(join(elsewhere, other, 'part-00001.parquet')));
    const part = `${folder}/part-00009.parquet`;
    expect(placesOf(await scan(dataDir))).toEqual([`decoded ${part}:properties`, `raw utf-8 ${part}`]);
    const beside = freshFolder();
    write(beside, 'copy.parquet', readFileSync(join(elsewhere, other, 'part-00001.parquet')));
    expect(placesOf(await scan(dataDir, { extraPaths: [beside] }))).toContain(`raw utf-8 ${beside}/copy.parquet`);
  });
});

describe('a person is found in the names of others', () => {
  const [other] = others;
  const uuid = String(other?.row['uuid']);
  const id = 'an-id-of-hers';
  const places = async (
    name: string,
    properties: object,
    hers: Partial<typeof nobody> = { distinct_id: [id, 'ann'] },
    published = properties,
  ) => {
    const dataDir = folderOf(...others);
    const embedded = JSON.stringify({ uuid, name, properties });
    inMirror(dataDir, (db) => {
      db.prepare(`UPDATE persons SET name = ?, properties = ? WHERE uuid = ?`).run(
        name,
        JSON.stringify(properties),
        uuid,
      );
      db.prepare(`UPDATE recordings SET person = ? WHERE person_uuid = ?`).run(embedded, uuid);
    });
    await publish(dataDir, 'persons', [
      personRow(uuid, { name, distinct_ids: '["bob"]', properties: JSON.stringify(published) }),
    ]);
    const report = await scan(dataDir, { subjects: [{ request: 'r', identity: { ...nobody, ...hers }, values: [] }] });
    return placesOf(report).map((place) => place.replace(/.*[.:]/, ''));
  };

  it('that the service has made of her distinct id or uuid', async () => {
    const herUuid = String(canary.row['uuid']);
    for (const [name, hers] of [[id], [herUuid.toUpperCase(), { person_uuid: [herUuid] }]] as const)
      expect(await places(name, {}, hers)).toEqual(['name', 'person', 'name']);
  });

  it.each<[string, string, object, Partial<typeof nobody>?, object?]>([
    ['that they gave themselves', id, { called: [id] }],
    [
      'that they gave themselves, where that property is not published',
      id,
      { called: [id] },
      { distinct_id: [id] },
      {},
    ],
    ['that can be any word', 'ann', {}],
    ['that are their own ids', uuid, {}, { distinct_id: [uuid] }],
  ])('but not in those %s', async (_what, ...row) => {
    expect(await places(...row)).toEqual([]);
  });
});

it('an identifier that another person quotes is found whole in a file that holds no rows, and left to that person', async () => {
  const id = 'ann-distinct-id-0001';
  const neighbour = personOf('neighbour', 18);
  neighbour.row['properties'] = JSON.stringify({ referred_by: id });
  const dataDir = folderOf(...others, neighbour);
  const subjects = [{ request: 'r', identity: { ...nobody, distinct_id: [id] }, values: [] }];
  const longer = [`${id}1`, `x${id}`, `${id}@x.test`, `${id}.de`, `j.${id}`, id.slice(1)];
  write(dataDir, 'others.log', longer.join(' '));
  expect(placesOf(await scan(dataDir, { subjects }))).toEqual([]);
  // Over the edge of what is read at once.
  write(dataDir, 'ids.log', `${' '.repeat((1 << 20) - 5)}${id}; ask ${id}. And ${longer[0]} or ?u=${id}`);
  const report = await scan(dataDir, { subjects });
  expect(placesOf(report)).toEqual(['raw utf-8 ids.log']);
  expect(report.subjects[0]?.hits).toBe(3);
});

describe('what rightly remains is no hit', () => {
  it('text of others with the bytes that a file happens to hold beside it', async () => {
    const neighbour = personOf('neighbour', 18);
    neighbour.row['name'] = 'ann@app.example.com';
    const dataDir = folderOf(...others, neighbour);
    // As SQLite's lengths and types once in a while stand behind a text.
    write(dataDir, 'lengths.bin', 'ann@app.example.com\\ ann@app.example.com%E/');
    const subjects = [{ request: 'r', identity: nobody, values: ['https://app.example.com/日本語/r'] }];
    expect(placesOf(await scan(dataDir, { subjects }))).toEqual([]);
    write(dataDir, 'more.bin', 'app.example.com/%E6%97%A5');
    expect(placesOf(await scan(dataDir, { subjects }))).toEqual(['raw percent more.bin']);
  });

  it('text that others’ rows hold too, wherever it stands', async () => {
    const namesake = personOf('namesake', 18);
    namesake.row['name'] = canary.row['name'] as string;
    const dataDir = folderOf(...others, namesake);
    write(dataDir, 'reports/x.txt', String(canary.row['name']));
    const report = await scan(dataDir);
    expect(placesOf(report)).toEqual([]);
    // Their rows gone, it is hers alone again.
    inMirror(dataDir, (db) => db.exec(`DELETE FROM persons WHERE id = 18; VACUUM`));
    expect(placesOf(await scan(dataDir))).toContain('raw utf-8 reports/x.txt');
  });

  it('text that only the last of many rows holds too, where nothing is published', async () => {
    // Rows are learned from in batches of a thousand, more of them each time: the last time ends within one.
    const many = Array.from({ length: 1100 }, (_, index) => personOf(`crowd${index}`, 2000 + index));
    const last = many.at(-1);
    if (last) last.recording['start_url'] = canary.row['name'] as string;
    const dataDir = folderOf(...many);
    write(dataDir, 'reports/x.txt', String(canary.row['name']));
    expect(placesOf(await scan(dataDir))).toEqual([]);
  });

  it('text that stands in published rows of others only', async () => {
    const namesake = personOf('namesake', 18);
    namesake.row['name'] = canary.row['name'] as string;
    const dataDir = folderOf(...others);
    await publish(dataDir, 'persons', [publishedPerson(namesake)]);
    write(dataDir, 'reports/x.txt', String(canary.row['name']));
    expect(placesOf(await scan(dataDir))).toEqual([]);
  });

  it('an address that is part of another’s', async () => {
    const ann = {
      request: 'r',
      identity: { ...nobody, distinct_id: ['ann@mail.example'], person_id: ['1'] },
      values: [],
    };
    const joann = personOf('joann', 11);
    joann.distinctIds[0] = 'joann@mail.example';
    joann.row['distinct_ids'] = '["joann@mail.example"]';
    expect(placesOf(await scan(folderOf(joann), { subjects: [ann] }))).toEqual([]);
  });

  it('what two values of another’s row make together, where SQLite puts them side by side', async () => {
    const near = { request: 'r', identity: { ...nobody, distinct_id: ['00000019dbba2'] }, values: [] };
    const other = personOf('other', 12);
    other.recording['person_uuid'] = '0190aaaa-1111-7222-8333-00000019dbba';
    // So that the time of the beginning is the next value.
    other.recording['viewers'] = null;
    const dataDir = folderOf(other);
    const { subjects } = await scan(dataDir, { subjects: [near] });
    expect(readFileSync(join(dataDir, 'mirror.db')).includes('00000019dbba2026-11-20')).toBe(true);
    expect(subjects[0]).toMatchObject({ shared: 2, hits: 0 });
  });

  it('uuids and recording ids in the feeds, but no distinct id', async () => {
    const dataDir = folderOf(...others, canary);
    inMirror(dataDir, (db) => {
      removePeople(db, [canary]);
      db.exec('VACUUM');
      db.pragma('wal_checkpoint(TRUNCATE)');
    });
    expect(placesOf(await scan(dataDir))).toEqual([]);
    const deletion = { dataset: 'persons', reason: 'erased', deleted_at: '2026-11-20T11:00:00.000Z' };
    inMirror(dataDir, (db) => insert(db, 'deletions', { ...deletion, key: canary.distinctIds[0] ?? null }));
    expect(placesOf(await scan(dataDir))).toEqual(['decoded mirror.db:deletions.key', 'raw utf-8 mirror.db']);
  });

  it('what others quote, name and copy of her, but in the columns that say whose a row is', async () => {
    const [other] = others;
    const uuid = String(canary.row['uuid']);
    const dataDir = folderOf(...others);
    const hers = { ...nobody, person_uuid: [uuid], distinct_id: ['ann', 'recordings-list'], recording_id: ['list'] };
    const subjects = [{ request: 'r', identity: hers, values: [] }];
    const quotes = { referred_by: uuid, distinct_id: 'ann', distinct_ids: ['ann'], person: { uuid } };
    inMirror(dataDir, (db) => {
      db.prepare(`UPDATE persons SET properties = ?, extra = ? WHERE uuid = ?`).run(
        JSON.stringify({ ...quotes, again: JSON.stringify(quotes) }),
        JSON.stringify(quotes),
        other?.row['uuid'],
      );
      db.prepare(`UPDATE recordings SET extra = ?, person = ? WHERE id = ?`).run(
        JSON.stringify(quotes),
        JSON.stringify({ distinct_ids: ['["ann"]'], properties: quotes }),
        other?.recording['id'],
      );
      const seen = { first_seen_pass: 1, changed_at: '2026-11-20T10:00:00.000Z' };
      insert(db, 'playlists', { short_id: 'list', filters: JSON.stringify({ person_uuid: uuid }), ...seen });
      const change = { op: 'upsert', at: '2026-11-20T10:00:00.000Z' };
      insert(db, 'changes', { dataset: 'playlists', key: 'list', ...change });
    });
    const folder = await publish(dataDir, 'persons', [
      personRow(String(other?.row['uuid']), { distinct_ids: '["bob"]', properties: JSON.stringify(quotes) }),
    ]);
    expect(placesOf(await scan(dataDir, { subjects }))).toEqual([]);
    // In a row of her own, all of it counts.
    inMirror(dataDir, (db) => db.exec(`UPDATE persons SET distinct_ids = '["ann"]' WHERE id = 1000`));
    const found = placesOf(await scan(dataDir, { subjects }));
    expect(found).toEqual(
      expect.arrayContaining([
        'decoded mirror.db:persons.distinct_ids',
        'decoded mirror.db:persons.extra',
        'decoded mirror.db:persons.properties',
      ]),
    );
    expect(found.filter((place) => place.includes(folder))).toEqual([]);
  });

  it.each<[string, (of: { uuid: string; recording: string }) => Partial<typeof nobody>]>([
    ['a recording id that is another’s uuid', ({ uuid }) => ({ recording_id: [uuid] })],
    ['a distinct id that is another’s uuid', ({ uuid }) => ({ distinct_id: [uuid] })],
    ['a distinct id that is another’s recording', ({ recording }) => ({ distinct_id: [recording] })],
  ])('%s', async (_what, hers) => {
    const dataDir = folderOf(...others);
    const [other] = others;
    const uuid = String(other?.row['uuid']);
    const recording = String(other?.recording['id']);
    inMirror(dataDir, (db) => removePeople(db, others.slice(1, 2)));
    await publish(dataDir, 'persons', [personRow(uuid, {})]);
    await publish(dataDir, 'recordings', [recordingRow(recording, { person_uuid: uuid, person: null })]);
    inMirror(dataDir, (db) => {
      for (const [dataset, key] of [
        ['persons', uuid],
        ['recordings', recording],
      ] as const)
        insert(db, 'changes', { dataset, key, op: 'upsert', at: '2026-11-20T10:00:00.000Z' });
    });
    const subjects = [{ request: 'r', identity: { ...nobody, ...hers({ uuid, recording }) }, values: [] }];
    expect(placesOf(await scan(dataDir, { subjects }))).toEqual([]);
  });

  it('what a feed tells of others: somebody who was erased before, whom her text names', async () => {
    const [friend] = others;
    const dataDir = folderOf(...others);
    inMirror(dataDir, (db) => {
      removePeople(db, others.slice(0, 1));
      db.exec('VACUUM');
      db.pragma('wal_checkpoint(TRUNCATE)');
    });
    const values = [JSON.stringify({ note: `invited by ${String(friend?.row['uuid'])}` })];
    const subjects = [{ request: 'r', identity: nobody, values }];
    expect(placesOf(await scan(dataDir, { subjects }))).toEqual([]);
    write(dataDir, 'more.txt', String(values));
    expect(placesOf(await scan(dataDir, { subjects }))).toEqual(['raw utf-8 more.txt']);
  });

  it('ids of requests', async () => {
    const dataDir = folderOf(...others);
    const id = String(canary.row['uuid']);
    const request = {
      id,
      origin: 'manual',
      basis: 'other',
      delete_events: 1,
      state: 'fenced',
      due_at: 'x',
      received_at: 'x',
    };
    inMirror(dataDir, (db) => insert(db, 'erasure_requests', request));
    expect((await scan(dataDir)).subjects[0]?.places.filter(({ how }) => how === 'decoded')).toEqual([]);
  });
});

describe('the program’s own words', () => {
  const request = '00000000-0000-4000-8000-000000000001';
  const words = ['analytics-mirror', 'upstreamFailed', 'DuckDB version', 'not_applicable', 'duckdb_schema'];
  const more = ['asserted_by_upstream', '"pageSize":1000,"overlap"', 'snapshot_id', `ticket ${request}`];
  const hers = {
    request: 'r',
    identity: { ...nobody, distinct_id: [...words, 'locally_verified'] },
    values: [...words, ...more],
  };
  const entry = (seq: number, rest: object): string => canonicalJson({ seq, at: '2026-11-20T12:00:00.000Z', ...rest });
  const result = entry(0, {
    type: 'result',
    requests: [request],
    target: 'upstream.playlists',
    result: 'not_applicable',
    assurance: 'observed',
  });

  /** A folder with everything that this program writes for itself. */
  async function ownFolder(): Promise<string> {
    const dataDir = folderOf(...others);
    await publish(dataDir, 'persons', others.map(publishedPerson));
    const at = '2026-11-20T10:00:00.000Z';
    inMirror(dataDir, (db) => {
      const counts = JSON.stringify({ persons: 1, upstreamFailed: 0, nested: { recordings: 2 } });
      insert(db, 'runs', { job: 'reconcile', started_at: at, finished_at: at, outcome: 'done', counts });
      const plan = JSON.stringify({ pageSize: 1000, overlap: 'auto', query: {} });
      insert(db, 'passes', { dataset: 'persons', mode: 'full', plan, started_at: at });
      const fixed = { origin: 'manual', basis: 'consent_withdrawn', delete_events: 1, state: 'attention' };
      const about = { reason: 'residue_found', due_at: at, received_at: at };
      insert(db, 'erasure_requests', { id: request, ...fixed, ...about });
      const end = { status: 'done', result: 'not_applicable', assurance: 'asserted_by_upstream' };
      insert(db, 'erasure_targets', { request_id: request, target: 'upstream.events', ...end, updated_at: at });
    });
    write(dataDir, 'ledger/entries.jsonl', `${result}\n`);
    const signer = { name: 'analytics-mirror/00ff', privateKey: privateKeyOf(Buffer.alloc(32, 7)) };
    const checkpoint = checkpointText({ size: 1, root: Buffer.alloc(32, 9) }, signer);
    write(dataDir, 'ledger/checkpoints/000000001.txt', checkpoint);
    const publicKey = publicKeyOf(signer.privateKey);
    write(dataDir, 'ledger/public-keys.txt', `${vkeyOf({ name: signer.name, publicKey })}\n`);
    write(dataDir, 'reports/verify.html', readFileSync(verifierPage));
    return dataDir;
  }

  it('are nobody’s where they stand', async () => {
    const dataDir = await ownFolder();
    expect(placesOf(await scan(dataDir, { subjects: [hers] }))).toEqual([]);
  });

  it('are nobody’s as the names of its files', async () => {
    const dataDir = await ownFolder();
    const names = [...readdirSync(dataDir, { recursive: true, encoding: 'utf8' })].flatMap((place) => [
      place,
      basename(place),
    ]);
    const values = [...names, 'manifest.json', 'mirror.db-journal'];
    const task = { subjects: [{ request: 'r', identity: nobody, values }] };
    expect(placesOf(await scan(dataDir, task))).toEqual([]);
    write(dataDir, 'reports/part-00001.parquet', 'no Parquet');
    expect((await scan(dataDir, task)).unreadable).toMatchObject([{ place: 'reports/part-00001.parquet' }]);
  });

  it.each<[string, string, string]>([
    ['any other file', 'reports/left.txt', 'not_applicable'],
    ['a line of the ledger that is no entry', 'ledger/entries.jsonl', `${result}\n{"note":"not_applicable"}\n`],
    [
      'a line of the ledger with one field more',
      'ledger/entries.jsonl',
      `${entry(0, { type: 'result', note: 'analytics-mirror' })}\n`,
    ],
    ['the torn end of the ledger', 'ledger/entries.jsonl', `${result}\n"analytics-mirror"`],
    ['a checkpoint that is none', 'ledger/checkpoints/000000001.txt', 'analytics-mirror\n1\nx\n'],
    [
      'a manifest with anything beside it',
      'snapshots/persons/20261120T125500.123Z/manifest.json',
      '{"snapshot_id":"upstreamFailed"}',
    ],
    [
      'the page of the verifier with anything beside it',
      'reports/verify.html',
      `${readFileSync(verifierPage, 'utf8')}not_applicable\n`,
    ],
    ['a certificate that is none', 'reports/certificates/x-g1.json', '{"generator":"analytics-mirror"}'],
  ])('count in %s', async (_where, place, content) => {
    const dataDir = await ownFolder();
    write(dataDir, place, content);
    expect(placesOf(await scan(dataDir, { subjects: [hers] }))).toContain(`raw utf-8 ${place}`);
  });

  it('make no free text of their tables theirs', async () => {
    const dataDir = await ownFolder();
    const [email] = canary.distinctIds;
    inMirror(dataDir, (db) => {
      db.prepare(`UPDATE erasure_requests SET authorised_by = ?`).run(email);
      db.prepare(`UPDATE runs SET counts = ?`).run(JSON.stringify({ note: email }));
      db.prepare(`UPDATE erasure_targets SET result = ?`).run(email);
    });
    expect(placesOf(await scan(dataDir))).toEqual([
      'decoded mirror.db:erasure_requests.authorised_by',
      'decoded mirror.db:erasure_targets.result',
      'decoded mirror.db:runs.counts',
      'raw utf-8 mirror.db',
    ]);
  });

  it('leave an id of hers in the ledger found', async () => {
    const dataDir = await ownFolder();
    const uuid = String(canary.row['uuid']);
    write(dataDir, 'ledger/entries.jsonl', `${result.replace(request, uuid)}\n`);
    expect(placesOf(await scan(dataDir))).toEqual(['decoded ledger/entries.jsonl']);
  });
});

describe('the fence', () => {
  it('is held against every identifier, of requests that are sealed too', async () => {
    const dataDir = folderOf(...others, canary);
    const folder = await publish(dataDir, 'distinct_ids', [
      { distinct_id: 'canarybird-device-17', person_uuid: String(canary.row['uuid']) },
    ]);
    const { identity } = subjectOf(canary);
    inMirror(dataDir, (db) => {
      fenceIdentifiers(db, { id: 'r', epoch: 1, at: '2026-11-20' }, identifiersIn(identity));
    });
    const { fenced } = await scan(dataDir, { subjects: [] });
    expect(fenced.map(({ place, kind }) => `${kind} ${place}`).toSorted()).toEqual([
      'distinct_id mirror.db:distinct_id_owners.distinct_id',
      'distinct_id mirror.db:persons.distinct_ids',
      'distinct_id mirror.db:recordings.distinct_id',
      'distinct_id mirror.db:recordings.person',
      `distinct_id ${folder}/part-00001.parquet:distinct_id`,
      'person_id mirror.db:persons.id',
      'person_id mirror.db:recordings.person',
      'person_uuid mirror.db:persons.uuid',
      'person_uuid mirror.db:recordings.person',
      'person_uuid mirror.db:recordings.person_uuid',
      `person_uuid ${folder}/part-00001.parquet:person_uuid`,
      'recording_id mirror.db:recordings.id',
    ]);
    expect((await scan(dataDir, { subjects: [], fence: false })).fenced).toEqual([]);
    inMirror(dataDir, (db) => removePeople(db, [canary]));
    const after = await scan(dataDir, { subjects: [] });
    expect(after.fenced.filter(({ place }) => place.startsWith('mirror.db'))).toEqual([]);
  });

  it('cannot be held against the bytes of a file that is not decoded: there, only who is named is found', async () => {
    const dataDir = folderOf(...others, canary);
    const copy = readFileSync(join(dataDir, 'mirror.db'));
    inMirror(dataDir, (db) => {
      removePeople(db, [canary]);
      fenceIdentifiers(db, { id: 'r', epoch: 1, at: '2026-11-20' }, identifiersIn(subjectOf(canary).identity));
    });
    write(dataDir, 'old-copy.db', copy);
    expect((await scan(dataDir, { subjects: [] })).fenced).toEqual([]);
    expect(placesOf(await scan(dataDir, { subjects: [subjectOf(canary)] }))).toContain('raw utf-8 old-copy.db');
  });
});

describe('what cannot be read is reported, and the rest is searched', () => {
  it('files that are not what their names say', async () => {
    const dataDir = folderOf(...others);
    write(dataDir, 'a.json', `{"note": "canarybird extra text"`);
    write(dataDir, 'b.jsonl', `{"a":1}\n{"a":`);
    write(dataDir, 'c.parquet', 'PAR1 canarybird extra text PAR1');
    symlinkSync(join(dataDir, 'nowhere'), join(dataDir, 'broken'));
    const server = createServer().listen(join(dataDir, 'socket'));
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const report = await scan(dataDir);
    expect(report.unreadable.map(({ place, reason }) => `${place}: ${reason}`).toSorted()).toEqual([
      'broken: ENOENT',
      'c.parquet: cannot read a Parquet file: Invalid Input Error',
      'socket: not a file',
    ]);
    expect(placesOf(report)).toEqual(['raw utf-8 a.json', 'raw utf-8 c.parquet']);
  });

  it('nothing of a feed, though a copy of it is no feed', async () => {
    const dataDir = folderOf(...others);
    const uuid = String(canary.row['uuid']);
    const subjects = [{ request: 'r', identity: { ...nobody, person_uuid: [uuid] }, values: [] }];
    inMirror(dataDir, (db) =>
      insert(db, 'changes', { dataset: 'persons', key: uuid, op: 'delete', at: '2026-11-20T10:00:00.000Z' }),
    );
    expect(placesOf(await scan(dataDir, { subjects }))).toEqual([]);
    write(dataDir, 'tmp/copy.db', readFileSync(join(dataDir, 'mirror.db')));
    expect(placesOf(await scan(dataDir, { subjects }))).toEqual(['raw utf-8 tmp/copy.db']);
  });

  it('archives and compressed files, in the data folder and beside it', async () => {
    const dataDir = folderOf(...others);
    const logs = freshFolder();
    write(dataDir, 'logs/mirror.log.1.gz', gzipSync(String(canary.row['properties'])));
    write(dataDir, 'snapshots/old.7z', Buffer.from('377abcaf271c0004', 'hex'));
    write(dataDir, 'tmp/pages', zstdCompressSync(Buffer.from(String(canary.row['properties']))));
    writeFileSync(join(logs, 'old.tar'), tarOf({ 'a.txt': Buffer.from('secret') }));
    writeFileSync(join(logs, 'old.zip'), zipOf({ 'a.txt': Buffer.from('secret') }));
    const { unreadable } = await scan(dataDir, { extraPaths: [logs] });
    expect(unreadable).toEqual([
      { place: 'logs/mirror.log.1.gz', reason: 'packed as gzip: unpack it and scan again' },
      { place: 'snapshots/old.7z', reason: 'packed as 7z: unpack it and scan again' },
      { place: 'tmp/pages', reason: 'packed as Zstandard: unpack it and scan again' },
      { place: `${logs}/old.tar`, reason: 'packed as tar: unpack it and scan again' },
      { place: `${logs}/old.zip`, reason: 'packed as zip: unpack it and scan again' },
    ]);
  });

  it('files of this program that are damaged', async () => {
    const dataDir = folderOf(...others);
    const places = ['snapshots/CURRENT.json', 'snapshots/persons/20261120T125500.123Z/manifest.json'];
    for (const place of places) write(dataDir, place, '{"half": ');
    const { unreadable } = await scan(dataDir);
    expect(unreadable.map(({ place }) => place).toSorted()).toEqual(places);
  });

  it('a mirror that is none', async () => {
    const dataDir = freshFolder();
    write(dataDir, 'mirror.db', 'canarybird extra text');
    const report = await scan(dataDir);
    expect(report.unreadable).toEqual([{ place: 'mirror.db', reason: 'SQLITE_NOTADB' }]);
    expect(placesOf(report)).toEqual(['raw utf-8 mirror.db']);
  });

  it('a mirror that is damaged', async () => {
    const dataDir = folderOf(...others);
    const path = join(dataDir, 'mirror.db');
    const bytes = readFileSync(path);
    bytes.fill(0xff, 4096 * 20);
    writeFileSync(path, bytes);
    expect((await scan(dataDir)).unreadable).toContainEqual({ place: 'mirror.db', reason: 'SQLITE_CORRUPT' });
  });

  it('a folder without a mirror, and no folder', async () => {
    expect((await scan(freshFolder())).unreadable.map(({ place }) => place)).toEqual(['mirror.db']);
    const { unreadable } = await scan(join(freshFolder(), 'none'));
    expect(unreadable.map(({ place }) => place)).toEqual(['mirror.db', '.']);
  });
});

describe('the control', () => {
  it('finds everybody in the mirror’s bytes, and then ends', async () => {
    const second = personOf('secondbird', 18);
    const dataDir = folderOf(...others, canary, second);
    write(dataDir, 'reports/x.txt', 'canarybird extra text');
    const report = await scan(dataDir, { phase: 'control', subjects: [canary, second].map(subjectOf) });
    expect(report.subjects.every(({ hits }) => hits > 0)).toBe(true);
    expect(placesOf(report, 1)).toContain('raw utf-8 mirror.db');
    expect(report.files).toBe(1);
  });

  it('goes on to the files for somebody who is in them only', async () => {
    const dataDir = folderOf(...others);
    const folder = await publish(dataDir, 'persons', [publishedPerson(canary)]);
    const report = await scan(dataDir, { phase: 'control' });
    expect(placesOf(report)).toContain(`decoded ${folder}/part-00001.parquet:person_uuid`);
  });

  it('finds nobody who is not there', async () => {
    const report = await scan(folderOf(...others), { phase: 'control' });
    expect(report.subjects[0]).toMatchObject({ hits: 0, places: [] });
  });
});
