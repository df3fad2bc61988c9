import { existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { backUp } from '../../src/job/backup.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { noteTakenEntries } from '../../src/mirror/erasure-requests.ts';
import { lifeOf, tickingClock } from '../ledger/ledger-fixture.ts';
import { freshFolder, openTestMirror, stillClock } from '../mirror/open-test-mirror.ts';

const at = (second: number) => ({ ...stillClock, now: () => Date.UTC(2026, 0, 1) + second * 1000 });

function written() {
  const mirror = openTestMirror();
  const ledger = openLedger(mirror.dataDir, tickingClock());
  for (const records of lifeOf(1, 1)) ledger.append(records);
  ledger.checkpoint();
  mkdirSync(join(mirror.dataDir, 'snapshots'), { mode: 0o700 });
  writeFileSync(join(mirror.dataDir, 'snapshots', 'CURRENT.json'), '{}');
  return { ...mirror, ledger, to: join(freshFolder(), 'backups') };
}

test('a copy has mirror, ledger and keys, for its owner only, and no published file', () => {
  const { db, dataDir, ledger, to } = written();
  const { folder, entries, bytes, removed } = backUp(db, { dataDir, to, keep: 2, clock: at(0) });
  expect([folder, entries, removed]).toEqual([join(to, '20260101T000000Z'), ledger.size(), 0]);
  expect(bytes).toBeGreaterThan(statSync(join(folder, 'mirror.db')).size);
  expect(readdirSync(folder).toSorted()).toEqual(['keys', 'ledger', 'mirror.db']);
  expect(readdirSync(join(folder, 'ledger')).toSorted()).toEqual(['checkpoints', 'entries.jsonl', 'public-keys.txt']);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  for (const file of ['mirror.db', 'keys/ledger.key']) expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
});

test('so many copies stay as are to be kept, and what a kill has left goes', () => {
  const { db, dataDir, to } = written();
  mkdirSync(join(to, '20251231T000000Z.unfinished'), { recursive: true });
  utimesSync(join(to, '20251231T000000Z.unfinished'), new Date(0), new Date(0));
  mkdirSync(join(to, 'of somebody else'));
  for (const second of [0, 1, 2]) backUp(db, { dataDir, to, keep: 2, clock: at(second) });
  expect(readdirSync(to).toSorted()).toEqual(['20260101T000001Z', '20260101T000002Z', 'of somebody else']);
});

test('the copy just made stays, whatever a clock that was ahead has named the others', () => {
  const { db, dataDir, to } = written();
  for (const second of [20, 21, 1, 2]) backUp(db, { dataDir, to, keep: 2, clock: at(second) });
  expect(readdirSync(to).toSorted()).toEqual(['20260101T000001Z', '20260101T000002Z']);
});

test('a place that cannot be written is named, not the data folder', () => {
  const { db, dataDir, to } = written();
  writeFileSync(to, 'no folder');
  const place = join(to, 'below');
  const refused = { code: 'usage', message: `cannot write ${place} (ENOTDIR)` };
  expect(() => backUp(db, { dataDir, to: place, keep: 1, clock: at(0) })).toThrow(expect.objectContaining(refused));
});

test('no copy is made in the data folder, and none stays whose ledger is older than its mirror', () => {
  const { db, dataDir, to } = written();
  const into = (place: string) => () => backUp(db, { dataDir, to: place, keep: 1, clock: at(0) });
  const link = join(freshFolder(), 'link');
  symlinkSync(dataDir, link);
  for (const place of [dataDir, join(dataDir, 'backups'), join(dataDir, '..backups'), join(link, 'backups')])
    expect(into(place)).toThrow('is in the data folder');
  noteTakenEntries(db, { requestEntries: () => 1000, rootOfFirst: () => '' });
  expect(into(to)).toThrow('the ledger is older than mirror.db');
  expect(readdirSync(to)).toEqual([]);
  db.exec(`DELETE FROM taken_entries`);
  rmSync(join(dataDir, 'ledger'), { recursive: true });
  expect(into(to)().entries).toBe(0);
  expect(into(to)).toThrow('is there already');
  expect(existsSync(join(to, '20260101T000000Z', 'mirror.db'))).toBe(true);
});
