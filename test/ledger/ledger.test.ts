import {
  appendFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { openLedger, readLedger } from '../../src/ledger/ledger.ts';
import type { LedgerRecord } from '../../src/ledger/record.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { breakDisk } from '../kill/broken-disk.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { lifeOf, requestId, tickingClock, writeSmallLedger } from './ledger-fixture.ts';

const life = lifeOf(1, 1).flat();
const [received] = life;
const scoped = life.slice(1, 2);

function entriesOf(dataDir: string): string {
  return join(dataDir, 'ledger/entries.jsonl');
}

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

describe('a ledger', () => {
  it('is made at the first record, for its owner only', () => {
    const dataDir = temporaryFolder();
    const ledger = openLedger(dataDir, tickingClock());
    expect(readdirSync(dataDir)).toEqual([]);
    expect([ledger.size(), ledger.epoch(), [...ledger.entries()]]).toEqual([0, 0, []]);
    ledger.append([]);
    expect(readdirSync(dataDir)).toEqual([]);
    ledger.append(life.slice(0, 1));
    ledger.checkpoint();
    expect([join(dataDir, 'ledger'), join(dataDir, 'ledger/checkpoints'), join(dataDir, 'keys')].map(modeOf)).toEqual([
      '700',
      '700',
      '700',
    ]);
    expect(
      ['ledger/entries.jsonl', 'ledger/public-keys.txt', 'ledger/checkpoints/000000001.txt', 'keys/ledger.key'].map(
        (file) => modeOf(join(dataDir, file)),
      ),
    ).toEqual(['600', '600', '600', '600']);
  });

  it('holds each record with its number and time, as one canonical line', () => {
    const dataDir = temporaryFolder();
    const ledger = openLedger(dataDir, tickingClock());
    ledger.append(life.slice(0, 3));
    ledger.append(life.slice(3));
    expect(readFileSync(entriesOf(dataDir), 'utf8').split('\n')[4]).toBe(
      `{"at":"2026-11-20T12:00:02.000Z","epoch":1,"generation":1,"request":"${requestId(1)}","seq":4,"type":"fenced"}`,
    );
    for (const reader of [ledger, readLedger(dataDir), openLedger(dataDir, tickingClock())]) {
      expect(reader.size()).toBe(life.length);
      expect(reader.epoch()).toBe(1);
      expect(reader.head()).toEqual(ledger.head());
      expect([...reader.entries()].map(({ seq: _seq, at: _at, ...record }) => record)).toEqual(life);
    }
    ledger.checkpoint();
    expect(verifyLedger({ folder: join(dataDir, 'ledger') })).toMatchObject({
      ok: true,
      size: life.length,
      rootHash: ledger.head().rootHash,
    });
  });

  it('reads lines longer than what it reads at once', () => {
    const dataDir = temporaryFolder();
    const fence = Array.from({ length: 4999 }, (_, n) => ({
      kind: 'distinct_id' as const,
      encrypted: n.toString(16).padStart(64, '0'),
    }));
    const long: LedgerRecord = { type: 'fencing', request: requestId(1), generation: 1, epoch: 1, fence };
    const ledger = openLedger(dataDir, tickingClock());
    ledger.append([...life.slice(0, 3), long, ...life.slice(4)]);
    expect(statSync(entriesOf(dataDir)).size).toBeGreaterThan(256 * 1024);
    expect(readLedger(dataDir).head()).toEqual(ledger.head());
    ledger.checkpoint();
    expect(verifyLedger({ folder: join(dataDir, 'ledger') })).toMatchObject({ ok: true, size: life.length });
  });

  it.each([
    ['free text', { ...received, note: 'Ann' }],
    ['free text under a name that objects have', JSON.parse(`{"__proto__":"Ann",${JSON.stringify(received).slice(1)}`)],
    ['free text in a list', { ...life[3], fence: [{ kind: 'person_id', encrypted: 'c'.repeat(64), value: 'Ann' }] }],
    ['a reason of its own', { ...received, basis: 'Ann asked' }],
    ['a date that there is not', { ...received, due_at: '2026-02-30T00:00:00.000Z' }],
    ['another spelling of a uuid', { ...received, request: requestId(1).replaceAll('0', 'A') }],
    [
      'a file that is none of ours',
      { type: 'intent', requests: [requestId(1)], target: 'snapshot:persons/ann/part-00001.parquet' },
    ],
    ['no requests', { type: 'intent', requests: [], target: 'mirror' }],
    ['a fraction', { ...life[1], persons: 0.5 }],
    ['a value that is missing', { ...received, basis: undefined }],
    ['its own number', { ...received, seq: 'Ann' }],
    ['another type', { type: 'noted', text: 'Ann' }],
  ])('refuses %s, and all that came with it, without saying what it was', (_what, record) => {
    const dataDir = temporaryFolder();
    const ledger = openLedger(dataDir, tickingClock());
    ledger.append(life.slice(0, 1));
    const before = readFileSync(entriesOf(dataDir));
    let message = '';
    try {
      ledger.append([...scoped, record as LedgerRecord, ...scoped]);
    } catch (error) {
      message = String(error);
    }
    expect(message).toMatch(/Error: /);
    expect(message).not.toContain('Ann');
    expect(readFileSync(entriesOf(dataDir))).toEqual(before);
    ledger.append(scoped);
    expect(readLedger(dataDir).size()).toBe(2);
  });
});

describe('what a kill leaves', () => {
  it('a piece of a line is cut off at the next start, and left aside by readers', () => {
    const dataDir = temporaryFolder();
    const ledger = openLedger(dataDir, tickingClock());
    ledger.append(life.slice(0, 4));
    ledger.checkpoint();
    const whole = readFileSync(entriesOf(dataDir));
    appendFileSync(entriesOf(dataDir), '{"at":"2026');
    const torn = readFileSync(entriesOf(dataDir));
    expect(readLedger(dataDir).head()).toEqual(ledger.head());
    expect(readFileSync(entriesOf(dataDir))).toEqual(torn);
    expect(verifyLedger({ folder: join(dataDir, 'ledger') }).problems).toMatchObject([{ problem: 'torn_line' }]);
    const again = openLedger(dataDir, tickingClock());
    expect(readFileSync(entriesOf(dataDir))).toEqual(whole);
    again.append(life.slice(4));
    expect(readLedger(dataDir).size()).toBe(life.length);
  });

  it('also of the very first line', () => {
    const dataDir = temporaryFolder();
    mkdirSync(join(dataDir, 'ledger'));
    writeFileSync(entriesOf(dataDir), '{"at"');
    openLedger(dataDir, tickingClock()).append(life.slice(0, 1));
    expect(readLedger(dataDir).size()).toBe(1);
  });
});

describe('what nobody may have done', () => {
  it.each([
    [
      'a line that is not JSON',
      (text: string) => text.replace('{"at"', '{"at'),
      'line 1 of .* is damaged \\(not_json\\)',
    ],
    [
      'a line with a space',
      (text: string) => text.replace('{"at"', '{ "at"'),
      'line 1 of .* is damaged \\(not_canonical\\)',
    ],
    [
      'a record of its own',
      (text: string) => text.replace('"scoped"', '"scopes"'),
      'line 2 of .* is damaged \\(not_in_schema\\)',
    ],
    [
      'an entry removed',
      (text: string) => text.split('\n').toSpliced(1, 1).join('\n'),
      'line 2 of .* is numbered 2, expected 1',
    ],
    [
      'an entry changed',
      (text: string) => text.replace('"files":1', '"files":2'),
      'checkpoint 000000005 was not signed for',
    ],
    [
      'entries cut off',
      (text: string) => `${text.split('\n').slice(0, 17).join('\n')}\n`,
      'checkpoint 000000020 covers more entries than the 17',
    ],
    [
      'a piece of a signed entry',
      (text: string) => text.slice(0, -9),
      'checkpoint 000000020 covers more entries than the 19',
    ],
  ])('%s stops it, and nothing is repaired', (_what, change, words) => {
    const dataDir = temporaryFolder();
    writeSmallLedger(dataDir);
    const changed = change(readFileSync(entriesOf(dataDir), 'utf8'));
    writeFileSync(entriesOf(dataDir), changed);
    for (const open of [() => openLedger(dataDir, tickingClock()), () => readLedger(dataDir)]) {
      expect(open).toThrow(expect.objectContaining({ code: 'storage', hint: expect.stringContaining('backup') }));
      expect(open).toThrow(new RegExp(`the ledger is damaged: ${words}`));
    }
    expect(readFileSync(entriesOf(dataDir), 'utf8')).toBe(changed);
  });

  it('a record of a newer version is no reason to restore an older ledger', () => {
    const dataDir = temporaryFolder();
    writeSmallLedger(dataDir);
    const text = readFileSync(entriesOf(dataDir), 'utf8');
    const hintWith = (from: string, to: string): unknown => {
      writeFileSync(entriesOf(dataDir), text.replace(from, to));
      try {
        return readLedger(dataDir);
      } catch (error) {
        return error instanceof AppError ? error.hint : error;
      }
    };
    expect(hintWith('"scoped"', '"scopes"')).toMatch(/^update the program, where a newer version has written here/);
    expect(hintWith('{"at"', '{ "at"')).toMatch(/^restore the folder ledger\//);
  });

  it('something else writes to it meanwhile', () => {
    const dataDir = temporaryFolder();
    const ledger = openLedger(dataDir, tickingClock());
    ledger.append(life.slice(0, 1));
    openLedger(dataDir, tickingClock()).append(scoped);
    expect(() => ledger.append(scoped)).toThrow(expect.objectContaining({ code: 'storage' }));
    expect(readLedger(dataDir).size()).toBe(2);
    rmSync(entriesOf(dataDir));
    expect(() => ledger.append(scoped)).toThrow(expect.objectContaining({ code: 'storage' }));
    expect(existsSync(entriesOf(dataDir))).toBe(false);
  });
});

describe('a disk that fails', () => {
  it.each([
    ['the first record', 0],
    ['a later record', 1],
  ])('at any step of %s, once: nothing was written, and the next attempt works', (_what, count) => {
    let steps = 0;
    for (let faultAt = 1; steps === 0; faultAt += 1) {
      const dataDir = temporaryFolder();
      const ledger = openLedger(dataDir, tickingClock());
      ledger.append(life.slice(0, count));
      const head = ledger.head();
      const disk = breakDisk((step) => step === faultAt);
      let failure: unknown;
      try {
        ledger.append(life.slice(count, 4));
        steps = faultAt - 1;
      } catch (error) {
        failure = error;
      }
      disk.mend();
      if (steps > 0) break;
      expect(failure).toMatchObject({
        code: 'storage',
        message: expect.stringContaining('the disk is full (ENOSPC)'),
        hint: expect.any(String),
      });
      expect(ledger.head()).toEqual(head);
      expect(readLedger(dataDir).head()).toEqual(head);
      ledger.append(life.slice(count));
      expect(readLedger(dataDir).size()).toBe(life.length);
    }
    expect(steps).toBeGreaterThanOrEqual(3);
  });

  it('for good: it refuses from then on, until it is opened again', () => {
    const dataDir = temporaryFolder();
    const ledger = openLedger(dataDir, tickingClock());
    ledger.append(life.slice(0, 1));
    // Open and write succeed; the flush fails, and so does taking the bytes back.
    const disk = breakDisk((step) => step > 2, 'EIO');
    expect(() => ledger.append(scoped)).toThrow('the disk answers with errors (EIO)');
    disk.mend();
    expect(() => ledger.append(scoped)).toThrow(/entries\.jsonl has \d+ bytes, expected \d+/);
    expect(ledger.size()).toBe(1);
    openLedger(dataDir, tickingClock()).append(life.slice(2));
  });

  it('a folder that refuses to be written', () => {
    const dataDir = temporaryFolder();
    breakDisk(() => true, 'EROFS');
    const ledger = openLedger(dataDir, tickingClock());
    expect(() => ledger.append(life.slice(0, 1))).toThrow(/the disk is read-only \(EROFS\)/);
    expect(() => ledger.checkpoint()).toThrow(/the disk is read-only \(EROFS\)/);
    expect(readdirSync(dataDir)).toEqual([]);
  });
});

test('a checkpoint that somebody without the key has put there is not given out as signed', () => {
  const dataDir = temporaryFolder();
  const ledger = openLedger(dataDir, tickingClock());
  ledger.append(life.slice(0, 3));
  const { text } = ledger.checkpoint();
  expect(ledger.checkpoint().text).toBe(text);
  const file = join(dataDir, 'ledger/checkpoints/000000003.txt');
  // The root is right, so that the ledger opens.
  writeFileSync(
    file,
    text.replace(/(?<= )[^ ]{20}(?=[^ ]+\n$)/, (id) => `${id.slice(0, 12)}AAAAAAAA`),
  );
  for (const present of [ledger, openLedger(dataDir, tickingClock())])
    expect(() => present.checkpoint()).toThrow('checkpoint 000000003 is not signed with its key');
  writeFileSync(file, text);
  expect(openLedger(dataDir, tickingClock()).checkpoint().text).toBe(text);
});

test('a draft that a kill left linked to a checkpoint, or to a key, is not written over', () => {
  const dataDir = temporaryFolder();
  const folder = join(dataDir, 'ledger');
  const ledger = openLedger(dataDir, tickingClock());
  ledger.append(life.slice(0, 4));
  ledger.checkpoint();
  linkSync(join(folder, 'checkpoints/000000004.txt'), join(folder, 'checkpoint.draft'));
  linkSync(join(dataDir, 'keys/ledger.key'), join(dataDir, `keys/ledger.key.next.draft-${process.pid}`));
  const kept = readFileSync(join(folder, 'checkpoints/000000004.txt'), 'utf8');
  ledger.append(life.slice(4));
  ledger.rotateKey();
  ledger.checkpoint();
  expect(readFileSync(join(folder, 'checkpoints/000000004.txt'), 'utf8')).toBe(kept);
  expect(verifyLedger({ folder }).problems).toEqual([]);
});

test('an older list of public keys is made whole again from the ledger; with an older key nothing is appended', () => {
  const dataDir = temporaryFolder();
  const [keys, key] = [join(dataDir, 'ledger/public-keys.txt'), join(dataDir, 'keys/ledger.key')];
  const ledger = openLedger(dataDir, tickingClock());
  ledger.append(life.slice(0, 1));
  ledger.checkpoint();
  const older = { keys: readFileSync(keys), key: readFileSync(key) };
  for (let times = 0; times < 3; times += 1) ledger.rotateKey();
  const newest = { keys: readFileSync(keys), key: readFileSync(key) };
  writeFileSync(keys, older.keys);
  const restored = openLedger(dataDir, tickingClock());
  restored.append(life.slice(1, 2));
  restored.checkpoint();
  expect(readFileSync(keys)).toEqual(newest.keys);
  expect(verifyLedger({ folder: join(dataDir, 'ledger') }).problems).toEqual([]);
  writeFileSync(key, older.key);
  const again = openLedger(dataDir, tickingClock());
  expect(() => again.append(life.slice(2, 3))).toThrow('keys/ledger.key is not the key of this ledger');
  writeFileSync(key, newest.key);
  writeFileSync(keys, newest.keys.subarray(newest.keys.indexOf('\n') + 1));
  expect(() => again.append(life.slice(2, 3))).toThrow('public-keys.txt does not list the keys of this ledger');
  expect(readLedger(dataDir).size()).toBe(restored.size());
});
