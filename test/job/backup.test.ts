import { existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { failCall } from '../core/failing-call.ts';
import { backUp } from '../../src/job/backup.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
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
  for (const file of ['snapshots/CURRENT.json', 'callbacks.json']) writeFileSync(join(mirror.dataDir, file), '{}');
  return { ...mirror, ledger, to: join(freshFolder(), 'backups') };
}

test('a copy has mirror, ledger, keys and what senders were told, for its owner only, and no published file', () => {
  const { db, dataDir, ledger, to } = written();
  const { folder, entries, bytes, removed } = backUp(db, { dataDir, to, keep: 2, clock: at(0) });
  expect([folder, entries, removed]).toEqual([join(to, '20260101T000000Z'), ledger.size(), 0]);
  expect(bytes).toBeGreaterThan(statSync(join(folder, 'mirror.db')).size);
  expect(readdirSync(folder).toSorted()).toEqual(['callbacks.json', 'keys', 'ledger', 'mirror.db']);
  expect(readdirSync(join(folder, 'ledger')).toSorted()).toEqual(['checkpoints', 'entries.jsonl', 'public-keys.txt']);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  for (const file of ['mirror.db', 'keys/ledger.key']) expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
});

/** Replaces the signing key before each copy of these files, so many times. */
function rotateAt(dataDir: string, names: readonly string[], times: number): void {
  let left = times;
  failCall('copyFileSync', new Error('of nothing'), (from) => {
    if (left > 0 && names.includes(basename(String(from)))) {
      left -= 1;
      openLedger(dataDir, tickingClock()).rotateKey();
    }
    return false;
  });
}

test.for(['entries.jsonl', 'public-keys.txt', 'ledger.key'])(
  'a copy can be used where the signing key is replaced as %s is copied',
  (name) => {
    const { db, dataDir, to } = written();
    rotateAt(dataDir, [name], 1);
    const { folder } = backUp(db, { dataDir, to, keep: 2, clock: at(0) });
    const copy = openLedger(folder, tickingClock());
    copy.append([{ type: 'replayed', epoch_from: 0, epoch_to: 0, rows: 0 }]);
    copy.checkpoint();
    expect(copy.rotations()).toHaveLength(1);
    expect(verifyLedger({ folder: join(folder, 'ledger') }).problems).toEqual([]);
  },
);

test('where the signing key is replaced again and again, that is told, and no copy is left', () => {
  const { db, dataDir, to } = written();
  rotateAt(dataDir, ['ledger.key'], 2);
  const told = { code: 'busy', message: 'the signing key was replaced each time that it was copied' };
  expect(() => backUp(db, { dataDir, to, keep: 2, clock: at(0) })).toThrow(expect.objectContaining(told));
  expect(readdirSync(to)).toEqual([]);
});

test('so many copies stay as are to be kept, and what a kill has left goes', () => {
  const { db, dataDir, to } = written();
  const left = join(to, `20251231T000000Z.3f0e4bfe-3bb5-4d6c-a3b4-c6a1d1a2a0d1.unfinished`);
  mkdirSync(left, { recursive: true });
  utimesSync(left, new Date(0), new Date(0));
  mkdirSync(join(to, 'of somebody else'));
  for (const second of [0, 1, 2]) backUp(db, { dataDir, to, keep: 2, clock: at(second) });
  expect(readdirSync(to).toSorted()).toEqual(['20260101T000001Z', '20260101T000002Z', 'of somebody else']);
});

test('a copy that is still being written stays, however long ago it was begun', () => {
  const { db, dataDir, to } = written();
  const name = '20251231T000000Z.3f0e4bfe-3bb5-4d6c-a3b4-c6a1d1a2a0d1.unfinished';
  mkdirSync(join(to, name), { recursive: true });
  writeFileSync(join(to, name, 'mirror.db'), 'rows');
  utimesSync(join(to, name), new Date(0), new Date(0));
  backUp(db, { dataDir, to, keep: 2, clock: at(0) });
  expect(readdirSync(to).toSorted()).toEqual([name, '20260101T000000Z']);
});

test('the copy just made stays, whatever a clock that was ahead has named the others', () => {
  const { db, dataDir, to } = written();
  for (const second of [20, 21, 1, 2]) backUp(db, { dataDir, to, keep: 2, clock: at(second) });
  expect(readdirSync(to).toSorted()).toEqual(['20260101T000001Z', '20260101T000002Z']);
});

test('a copy that has become the data folder stays while it is copied into its own place, and others go', () => {
  const { db: first, dataDir: damaged, to } = written();
  const { folder: dataDir } = backUp(first, { dataDir: damaged, to, keep: 1, clock: at(0) });
  const { db } = openTestMirror(dataDir);
  for (const second of [1, 2]) backUp(db, { dataDir, to, keep: 1, clock: at(second) });
  expect(readdirSync(to).toSorted()).toEqual([basename(dataDir), '20260101T000002Z']);
  expect(existsSync(join(dataDir, 'mirror.db'))).toBe(true);
});

test('the copies of another project in the same place stay', () => {
  const { db, dataDir, to } = written();
  const other = written();
  backUp(other.db, { dataDir: other.dataDir, to, keep: 1, clock: at(0) });
  for (const second of [1, 2]) backUp(db, { dataDir, to, keep: 1, clock: at(second) });
  expect(readdirSync(to).toSorted()).toEqual(['20260101T000000Z', '20260101T000002Z']);
});

test('before there is a ledger, the copies of another project stay, and own ones go once there is one', () => {
  const [own, other] = [openTestMirror(), openTestMirror()];
  const to = join(freshFolder(), 'backups');
  // No two are made in the same millisecond.
  other.db.exec(`UPDATE schema_migrations SET applied_at = '2020-01-01T00:00:00.000Z'`);
  backUp(other.db, { dataDir: other.dataDir, to, keep: 1, clock: at(0) });
  for (const time of [1, 2]) backUp(own.db, { dataDir: own.dataDir, to, keep: 1, clock: at(time) });
  expect(readdirSync(to).toSorted()).toEqual(['20260101T000000Z', '20260101T000002Z']);
  const ledger = openLedger(own.dataDir, tickingClock());
  for (const records of lifeOf(1, 1)) ledger.append(records);
  ledger.checkpoint();
  backUp(own.db, { dataDir: own.dataDir, to, keep: 1, clock: at(3) });
  expect(readdirSync(to).toSorted()).toEqual(['20260101T000000Z', '20260101T000003Z']);
});

test('no copy is made without what this user may not read', () => {
  const { db, dataDir, to } = written();
  const failure = Object.assign(new Error('of the system'), { code: 'EACCES' });
  failCall('statSync', failure, (path) => String(path).endsWith('keys/ledger.key'));
  expect(() => backUp(db, { dataDir, to, keep: 1, clock: at(0) })).toThrow('EACCES');
  expect(readdirSync(to)).toEqual([]);
});

test('of two projects that are copied in the same second, the one that ends first keeps its copy', () => {
  const { db, dataDir, to } = written();
  const other = written();
  const copyOther = () => backUp(other.db, { dataDir: other.dataDir, to, keep: 2, clock: at(0) });
  /** The first statement on it comes in the middle of the copy. */
  const slow = new Proxy(db, {
    get: (target, name) => {
      copyOther();
      return Reflect.get(target, name).bind(target) as unknown;
    },
  });
  const refused = { code: 'storage', message: `${join(to, '20260101T000000Z')} is there already` };
  expect(() => backUp(slow, { dataDir, to, keep: 2, clock: at(0) })).toThrow(expect.objectContaining(refused));
  expect(readdirSync(to)).toEqual(['20260101T000000Z']);
  expect(existsSync(join(to, '20260101T000000Z', 'mirror.db'))).toBe(true);
});

test.for([
  ['mkdirSync', 'checkpoints', 'ENOSPC', 'the disk is full (ENOSPC): '],
  ['mkdirSync', 'keys', 'EIO', 'the disk answers with errors (EIO): '],
  ['openSync', 'mirror.db', 'ENOSPC', 'the disk is full (ENOSPC): '],
] as const)('where %s of %s fails with %s, the place is named, and no copy is left', ([call, name, code, words]) => {
  const { db, dataDir, to } = written();
  const failure = Object.assign(new Error('of the system'), { code });
  failCall(call, failure, (path, how) => {
    return String(path).startsWith(to) && basename(String(path)) === name && how !== 'r';
  });
  expect(() => backUp(db, { dataDir, to, keep: 1, clock: at(0) })).toThrow(`${words}${to}`);
  expect(readdirSync(to)).toEqual([]);
});

test('where SQLite cannot make a file beside the copy, the place is named, and not the data folder', () => {
  const { db, dataDir, to } = written();
  const mirrorOf = (name: string): string => join(to, name, 'mirror.db');
  /** A folder stands where SQLite makes a file for the time of the copy. */
  const hindered = new Proxy(db, {
    get: (target, name) => {
      for (const draft of readdirSync(to)) mkdirSync(`${mirrorOf(draft)}-journal`, { recursive: true });
      return Reflect.get(target, name).bind(target) as unknown;
    },
  });
  const told = `SQLite cannot make a file in ${to}`;
  expect(() => backUp(hindered, { dataDir, to, keep: 1, clock: at(0) })).toThrow(told);
  expect(readdirSync(to)).toEqual([]);
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
