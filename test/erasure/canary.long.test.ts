import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { openLedger, type Ledger } from '../../src/ledger/ledger.ts';
import { openDatabaseReadOnly, type Database } from '../../src/mirror/database.ts';
import { listRequests } from '../../src/mirror/erasure-requests.ts';
import { listTargets } from '../../src/mirror/erasure-targets.ts';
import { runReconcileJob } from '../../src/worker/reconcile-job.ts';
import { keepSnapshots, openCanaryWorld, type CanaryWorld } from './canary-world.ts';
import { findTexts } from './find-texts.ts';
import { scanInThisProcess, scanOrdered } from './scan-in-this-process.ts';
import { insert, personOf } from './scan/canary.ts';
import { reuseDuckDb } from '../snapshot/one-duckdb.ts';

reuseDuckDb();

/** Reconciles without a service, with the mirror as it is or as a test bends it. */
function reconcile({ context }: CanaryWorld, db: Database = context.db) {
  scanInThisProcess();
  return runReconcileJob({ ...context, db }, undefined);
}

const states = ({ db }: CanaryWorld): string[] =>
  listRequests(db, 'all').map(({ state, reason }) => `${state} ${reason}`);

/** Texts that are still somewhere, and where. */
async function left({ dataDir, texts }: CanaryWorld): Promise<[string, string[]][]> {
  return [...(await findTexts(dataDir, texts))].filter(([, places]) => places.length > 0);
}

test('what was everywhere is nowhere, neither for the scanner nor for readers that know nothing of this program', async () => {
  // Ten others: two of the parts hold no canary.
  const folder = await openCanaryWorld(3, 10);
  const { db, dataDir, texts, canaries, others } = folder;
  expect(texts.length).toBeGreaterThan(80);
  const before = await findTexts(dataDir, texts);
  expect([...before].filter(([, places]) => places.length === 0)).toEqual([]);
  const places = new Set([...before.values()].flat());
  for (const table of ['persons', 'recordings', 'quarantine', 'distinct_id_owners', 'distinct_ids_lost'])
    expect(places).toContain(`table ${table}`);
  expect([...places].filter((place) => place.startsWith('rows snapshots/persons/')).length).toBeGreaterThanOrEqual(9);
  expect(places).toContain('rows tmp/snapshot-persons-20261120T110000.000Z/part-00001.parquet');
  const otherTexts = others.flatMap(({ distinctIds }) => distinctIds);
  const othersBefore = await findTexts(dataDir, otherTexts);

  await folder.request();
  // By a process of its own, as the program does it.
  const { erasure } = await runReconcileJob(folder.context, undefined);
  expect(erasure).toMatchObject({ fenced: 3, verified: 3, residue: 0 });
  expect(states(folder)).toEqual(Array.from(canaries, () => 'locally_verified null'));
  expect(await left(folder)).toEqual([]);

  // What the feeds tell of is all that is left of uuids.
  const uuids = canaries.flatMap(({ row, recording }) => [String(row['uuid']), String(recording['id'])]);
  const told = new Set([...(await findTexts(dataDir, uuids)).values()].flat());
  expect([...told].toSorted()).toEqual(['raw mirror.db', 'table changes', 'table deletions']);
  expect(db.prepare(`SELECT cursor FROM passes`).pluck().all()).toEqual([null]);
  expect(db.prepare(`SELECT count(*) FROM persons`).pluck().get()).toBe(others.length);
  const isFile = (place: string): boolean => place.startsWith('rows snapshots') || place.startsWith('table');
  const rowsLeft = await findTexts(dataDir, otherTexts);
  for (const text of otherTexts)
    expect(rowsLeft.get(text)?.filter(isFile).length).toBe(othersBefore.get(text)?.filter(isFile).length);
});

test('an address leaves the longer one that ends in it, and an id the longer one that begins with it', async () => {
  const folder = await openCanaryWorld();
  const { db } = folder;
  db.exec(`UPDATE persons SET id = 1 WHERE id = 501; UPDATE persons SET id = 11 WHERE id = 508`);
  const [ann, joann] = folder.others;
  const rename = db.prepare(`UPDATE distinct_id_owners SET distinct_id = ? WHERE distinct_id = ?`);
  const relist = db.prepare(`UPDATE persons SET distinct_ids = ? WHERE uuid = ?`);
  for (const [person, name] of [
    [ann, 'ann@x.example'],
    [joann, 'joann@x.example'],
  ] as const) {
    rename.run(name, person?.distinctIds[0]);
    relist.run(JSON.stringify([name, person?.distinctIds[1]]), person?.row['uuid']);
  }
  const before = db.prepare(`SELECT * FROM persons WHERE id = 11`).get();
  await folder.request([ann ?? personOf('nobody', 0)]);
  expect((await reconcile(folder)).erasure).toMatchObject({ verified: 1, residue: 0 });
  expect(db.prepare(`SELECT * FROM persons WHERE id = 1`).all()).toEqual([]);
  expect(db.prepare(`SELECT * FROM persons WHERE id = 11`).get()).toEqual(before);
  const found = await findTexts(folder.dataDir, ['joann@x.example', '"ann@x.example']);
  expect(found.get('joann@x.example')).toContain('table distinct_id_owners');
  expect(found.get('"ann@x.example')).toEqual([]);
});

describe('a reconciliation that leaves out', () => {
  /** The mirror, but that some of what is asked of it is not done. */
  function without(db: Database, left: RegExp): Database {
    return new Proxy(db, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...given: unknown[]): unknown =>
          left.test(String(given[0])) ? [{ busy: 0 }] : Reflect.apply(value, target, given);
      },
    });
  }

  it.each<[string, RegExp, string]>([
    ['to empty the statistics', /DELETE FROM sqlite_stat/, 'mirror.db'],
    ['to truncate the log', /wal_checkpoint/, 'mirror.db-wal'],
  ])('%s is found out', async (_what, step, place) => {
    const folder = await openCanaryWorld();
    await folder.request(folder.canaries.slice(1));
    const { erasure } = await reconcile(folder, without(folder.db, step));
    expect(erasure).toMatchObject({ residue: 2 });
    expect(states(folder)).toContain('attention residue_found');
    expect((await left(folder)).flatMap(([, places]) => places)).toContain(`raw ${place}`);
    // Done in full, it goes on by itself.
    expect((await reconcile(folder)).erasure).toMatchObject({ verified: 2, residue: 0 });
  });

  it.each<[string, string]>([
    ['to release the quarantine', `CREATE TRIGGER t BEFORE DELETE ON quarantine BEGIN SELECT raise(IGNORE); END`],
    ['to end passes', `CREATE TRIGGER t BEFORE UPDATE ON passes BEGIN SELECT raise(IGNORE); END`],
    ['memberships', `CREATE TRIGGER t BEFORE DELETE ON playlist_recordings BEGIN SELECT raise(IGNORE); END`],
    ['lost distinct ids', `CREATE TRIGGER t BEFORE DELETE ON distinct_ids_lost BEGIN SELECT raise(IGNORE); END`],
    ['recordings', `CREATE TRIGGER t BEFORE DELETE ON recordings BEGIN SELECT raise(IGNORE); END`],
  ])('%s is found out', async (_what, trigger) => {
    const folder = await openCanaryWorld();
    await folder.request(folder.canaries.slice(2));
    folder.db.exec(trigger);
    expect((await reconcile(folder)).erasure).toMatchObject({ verified: 0, residue: 1 });
    expect(states(folder)).toContain('attention residue_found');
  });

  it('to rewrite a file is found out, and mended', async () => {
    const folder = await openCanaryWorld();
    await folder.request(folder.canaries.slice(2));
    const putBack = keepSnapshots(folder);
    let scans = 0;
    // The old files are back when the scan that is to find nothing begins.
    scanInThisProcess((task) => {
      if (task.phase === 'verify') {
        scans += 1;
        putBack();
      }
      return scanOrdered({ ...task, passedOver: [] });
    });
    const { erasure } = await runReconcileJob(folder.context, undefined);
    expect(scans).toBe(1);
    expect(erasure).toMatchObject({ verified: 0, residue: 1 });
    expect((await reconcile(folder)).erasure).toMatchObject({ verified: 1, residue: 0 });
  });
});

test('a reconciliation reads the ledger once, when it opens it', async () => {
  const folder = await openCanaryWorld();
  await folder.request(folder.canaries.slice(2));
  scanInThisProcess();
  let opened = 0;
  const ledger = (): Ledger => {
    opened += 1;
    const entries = () => {
      throw new Error('the ledger is read again');
    };
    return { ...openLedger(folder.dataDir, systemClock), entries };
  };
  const { erasure } = await runReconcileJob({ ...folder.context, ledger }, undefined);
  expect(erasure).toMatchObject({ fenced: 1, verified: 1 });
  expect(opened).toBe(1);
});

test('a reader that holds the log open is waited for, then told of, and the purge is made up for when it has gone', async () => {
  const folder = await openCanaryWorld();
  const { db, dataDir } = folder;
  await folder.request(folder.canaries.slice(2));
  const reader = openDatabaseReadOnly(dataDir);
  reader.exec('BEGIN');
  reader.prepare(`SELECT count(*) FROM persons`).get();
  let waits = 0;
  const clock = {
    now: () => Date.now(),
    sleep: () => {
      waits += 1;
      return Promise.resolve();
    },
  };
  scanInThisProcess();
  const context = { ...folder.context, clock };
  const startedAt = performance.now();
  const { erasure } = await runReconcileJob(context, undefined);
  expect(erasure).toMatchObject({ fenced: 1, verified: 0 });
  expect(states(folder)).toEqual(['attention reader_holds_wal']);
  expect(waits).toBe(49);
  // SQLite's own wait for readers, at each try, would last minutes.
  expect(performance.now() - startedAt).toBeLessThan(20_000);
  reader.close();
  expect((await reconcile(folder)).erasure).toMatchObject({ verified: 1, residue: 0 });
  const [first] = listRequests(db, 'all');
  expect(listTargets(db, first?.id ?? '').find(({ target }) => target === 'mirror')).toMatchObject({
    status: 'done',
    result: 'purged',
    reason: null,
  });
});

test('what another person’s row quotes of somebody is that person’s, and keeps no request from its end', async () => {
  const folder = await openCanaryWorld();
  const [canary] = folder.canaries;
  const [other] = folder.others;
  const quote = JSON.stringify({ referred_by: canary?.distinctIds[0] });
  folder.db.prepare(`UPDATE persons SET properties = ? WHERE uuid = ?`).run(quote, other?.row['uuid']);
  await folder.request([canary ?? personOf('nobody', 0)]);
  expect((await reconcile(folder)).erasure).toMatchObject({ verified: 1, residue: 0 });
  expect(folder.db.prepare(`SELECT properties FROM persons WHERE uuid = ?`).pluck().get(other?.row['uuid'])).toBe(
    quote,
  );
});

describe('whatever others have put into their own rows, a request ends', () => {
  type Hostile = (folder: CanaryWorld, uuid: string, distinctId: string) => void;
  const quote = (property: string, of: (uuid: string, distinctId: string) => string): Hostile => {
    return ({ db, others }, uuid, distinctId) =>
      db
        .prepare(`UPDATE persons SET properties = ? WHERE uuid = ?`)
        .run(JSON.stringify({ [property]: of(uuid, distinctId) }), others[0]?.row['uuid']);
  };

  it.each<[string, Hostile]>([
    ['a property that quotes her uuid', quote('referred_by', (uuid) => uuid)],
    ['a property named as distinct ids are', quote('distinct_id', (_uuid, distinctId) => distinctId)],
    [
      'a filter of a playlist that names her',
      ({ db }, uuid) =>
        void insert(db, 'playlists', {
          short_id: 'named',
          filters: JSON.stringify({ person_uuid: uuid }),
          first_seen_pass: 1,
          changed_at: '2026-11-20T10:00:00.000Z',
        }),
    ],
    [
      'a recording of hers under another’s uuid',
      ({ db, others }, uuid) =>
        db.prepare(`UPDATE recordings SET id = ? WHERE person_uuid = ?`).run(others[1]?.row['uuid'], uuid),
    ],
    [
      'a distinct id of hers that is another’s uuid',
      ({ db, others }, uuid, distinctId) => {
        const stolen = String(others[1]?.row['uuid']);
        db.prepare(`UPDATE distinct_id_owners SET distinct_id = ? WHERE distinct_id = ?`).run(stolen, distinctId);
        db.prepare(`UPDATE persons SET distinct_ids = ? WHERE uuid = ?`).run(JSON.stringify([stolen]), uuid);
      },
    ],
  ])('in spite of %s', async (_what, change) => {
    const folder = await openCanaryWorld();
    const canary = folder.canaries[2] ?? personOf('nobody', 0);
    change(folder, String(canary.row['uuid']), String(canary.distinctIds[0]));
    const { length } = folder.db.prepare(`SELECT uuid FROM persons`).all();
    await folder.request([canary]);
    expect((await reconcile(folder)).erasure).toMatchObject({ verified: 1, residue: 0 });
    expect(folder.db.prepare(`SELECT uuid FROM persons`).all()).toHaveLength(length - 1);
  });
});

describe('somebody of whom there is very much', () => {
  /** A canary with a thousand more distinct ids, and with properties of so many characters. */
  async function hugeFolder(characters: number) {
    const folder = await openCanaryWorld();
    const { db } = folder;
    const canary = folder.canaries[2] ?? personOf('nobody', 0);
    const uuid = String(canary.row['uuid']);
    const ids = Array.from({ length: 1000 }, (_, index) => `anonymous-${index}-`.padEnd(70, `q${index}`));
    const key = db.prepare<[string], number>(`SELECT row_key FROM persons WHERE uuid = ?`).pluck().get(uuid);
    for (const id of ids) insert(db, 'distinct_id_owners', { person_row_key: key ?? 0, distinct_id: id });
    const properties = { long: 'z'.repeat(characters), email: 'the.last.of.all@x.example' };
    db.prepare(`UPDATE persons SET distinct_ids = ?, properties = ? WHERE uuid = ?`).run(
      JSON.stringify([...ids, ...canary.distinctIds]),
      JSON.stringify(properties),
      uuid,
    );
    await folder.request([canary]);
    return folder;
  }

  const scansOf = ({ dataDir }: CanaryWorld) =>
    [...openLedger(dataDir, systemClock).entries()].filter((entry) => entry.type === 'scan');

  test('is searched for by every text all the same', async () => {
    const folder = await hugeFolder(10);
    const place = join(folder.dataDir, 'left.txt');
    writeFileSync(place, 'the.last.of.all@x.example');
    expect((await reconcile(folder)).erasure).toMatchObject({ verified: 0, residue: 1 });
    rmSync(place);
    expect((await reconcile(folder)).erasure).toMatchObject({ verified: 1, residue: 0 });
    expect(scansOf(folder).every((entry) => entry.left_out === undefined)).toBe(true);
  });

  test('has it on the ledger how many texts were not searched for', async () => {
    const folder = await hugeFolder(70_000);
    writeFileSync(join(folder.dataDir, 'left.txt'), 'the.last.of.all@x.example');
    expect((await reconcile(folder)).erasure).toMatchObject({ verified: 0, residue: 1 });
    expect(scansOf(folder).map(({ phase, left_out: leftOut }) => [phase, leftOut])).toEqual([
      ['control', 1],
      ['verify', 1],
    ]);
  });
});
