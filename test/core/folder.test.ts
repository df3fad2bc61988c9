import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { failCall, syncedPaths } from './failing-call.ts';
import { shellWord } from '../../src/core/words.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { expect, test } from 'vitest';
import {
  copyFiles,
  makeFolder,
  refuseHiddenFolder,
  refuseOpenFolder,
  refuseUnwritable,
} from '../../src/core/folder.ts';

test('a data folder and keys that only their owner may read are let pass, with and without keys', () => {
  const folder = freshFolder();
  expect(() => refuseOpenFolder(folder)).not.toThrow();
  mkdirSync(join(folder, 'keys'), { mode: 0o700 });
  writeFileSync(join(folder, 'keys', 'fence.key'), '', { mode: 0o600 });
  expect(() => refuseOpenFolder(folder)).not.toThrow();
});

test('whatever is wider is refused with the commands that mend it', () => {
  const folder = freshFolder();
  const keys = join(folder, 'keys');
  const key = join(keys, 'fence.key');
  mkdirSync(keys);
  writeFileSync(key, '');
  chmodSync(folder, 0o750);
  chmodSync(keys, 0o701);
  chmodSync(key, 0o640);
  expect(() => refuseOpenFolder(folder)).toThrow(
    expect.objectContaining({
      code: 'usage',
      hint: `run: chmod 700 ${shellWord(folder)} && chmod 700 ${shellWord(keys)} && chmod 600 ${shellWord(key)}`,
    }),
  );
});

test('a data folder of another user is refused, also to root', () => {
  const folder = freshFolder();
  const owner = statSync(folder).uid;
  expect(() => refuseOpenFolder(folder, owner)).not.toThrow();
  expect(() => refuseOpenFolder(folder, owner + 1)).toThrow(
    expect.objectContaining({
      code: 'usage',
      message: `the data folder belongs to user ${owner}, and this is user ${owner + 1}`,
    }),
  );
});

test('a folder stays after a power cut, and so do those above it that were made for it', () => {
  const folder = freshFolder();
  const synced = syncedPaths();
  makeFolder(join(folder, 'reports', 'drills'));
  expect(synced).toEqual([folder, join(folder, 'reports')]);
  makeFolder(join(folder, 'reports', 'drills'));
  expect(synced).toHaveLength(2);
});

test('files are copied with their times, for their owner only, and what is no file is left out', () => {
  const [from, to] = [freshFolder(), join(freshFolder(), 'to')];
  mkdirSync(join(from, 'a', 'b'), { recursive: true, mode: 0o755 });
  writeFileSync(join(from, 'a', 'b', 'file'), 'content', { mode: 0o644 });
  utimesSync(join(from, 'a', 'b', 'file'), new Date(1000), new Date(2000));
  symlinkSync(join(from, 'a', 'b', 'file'), join(from, 'a', 'link'));
  symlinkSync(join(from, 'nothing'), join(from, 'a', 'broken'));
  copyFiles(join(from, 'a'), to);
  copyFiles(join(from, 'a', 'b', 'file'), join(to, 'alone', 'file'));
  copyFiles(join(from, 'missing'), join(to, 'missing'));
  expect((readdirSync(to, { recursive: true }) as string[]).toSorted()).toEqual([
    'alone',
    'alone/file',
    'b',
    'b/file',
    'link',
  ]);
  for (const name of ['b/file', 'alone/file', 'link']) {
    expect(readFileSync(join(to, name), 'utf8')).toBe('content');
    expect([statSync(join(to, name)).mode & 0o777, statSync(join(to, name)).mtimeMs]).toEqual([0o600, 2000]);
  }
  expect(statSync(join(to, 'b')).mode & 0o777).toBe(0o700);
});

test('a link to a folder is refused: a copy would lack its files, and nobody would hear of it', () => {
  const [from, to] = [freshFolder(), freshFolder()];
  symlinkSync(freshFolder(), join(from, 'certificates'));
  expect(() => copyFiles(from, to)).toThrow('certificates is a link, and the files of its folder would not be copied');
});

test('a folder that this user may not enter is told as that: nothing in it would seem to be there', () => {
  const folder = freshFolder();
  const hidden = join(folder, 'hidden');
  mkdirSync(hidden);
  expect(() => refuseHiddenFolder(hidden)).not.toThrow();
  expect(() => refuseHiddenFolder(join(folder, 'none'))).not.toThrow();
  chmodSync(hidden, 0);
  // Root may enter each folder.
  const uid = process.geteuid?.();
  if (uid === 0) process.seteuid?.(65_534);
  try {
    expect(() => refuseHiddenFolder(hidden)).toThrow(
      expect.objectContaining({ code: 'storage', message: expect.stringContaining('may not read') as string }),
    );
  } finally {
    if (uid === 0) process.seteuid?.(uid);
  }
});

test('what can be written is let pass, and stays as it is', () => {
  const folder = freshFolder();
  const file = join(folder, 'file');
  writeFileSync(file, 'text');
  mkdirSync(join(folder, 'below'));
  for (const path of [file, folder]) {
    const before = statSync(path).mtimeMs;
    refuseUnwritable(path);
    // To the millisecond: a `Date` knows no less.
    expect(Math.abs(statSync(path).mtimeMs - before)).toBeLessThanOrEqual(1);
  }
});

test('what is not there, and what a disk refuses that still grants the right to write, are not', () => {
  const folder = freshFolder();
  expect(() => refuseUnwritable(join(folder, 'none'))).toThrow(/ENOENT/);
  const refusal = Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS' });
  failCall('utimesSync', refusal);
  expect(() => refuseUnwritable(folder)).toThrow(refusal);
});
