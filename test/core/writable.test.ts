import fs, { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { refuseUnwritable } from '../../src/core/writable.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';

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
  const refusing = vi.spyOn(fs, 'utimesSync').mockImplementation(() => {
    throw refusal;
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    refusing.mockRestore();
    syncBuiltinESMExports();
  });
  expect(() => refuseUnwritable(folder)).toThrow(refusal);
});
