import { closeSync, mkdirSync, openSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { replaceFile, syncToDisk } from '../../src/core/atomic-file.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';

test('a new file holds the content, for its owner only, and no draft is left', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'file.json');
  replaceFile(path, 'one: ü 😀');
  expect(readFileSync(path, 'utf8')).toBe('one: ü 😀');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['file.json']);
});

test('an old file is replaced, whoever could read it before', () => {
  const path = join(temporaryFolder(), 'file.json');
  writeFileSync(path, 'a longer old content', { mode: 0o644 });
  replaceFile(path, 'new');
  expect(readFileSync(path, 'utf8')).toBe('new');
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('whoever has the old file open goes on reading the old content', () => {
  const path = join(temporaryFolder(), 'file.json');
  replaceFile(path, 'old');
  const reader = openSync(path, 'r');
  try {
    replaceFile(path, 'new');
    expect(readFileSync(reader, 'utf8')).toBe('old');
  } finally {
    closeSync(reader);
  }
});

test('when it cannot replace, the draft is removed and what was there stays', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'taken');
  mkdirSync(path);
  writeFileSync(join(path, 'inside'), 'kept');
  expect(() => replaceFile(path, 'new')).toThrow(expect.objectContaining({ code: 'EISDIR' }));
  expect(readdirSync(folder)).toEqual(['taken']);
  expect(readFileSync(join(path, 'inside'), 'utf8')).toBe('kept');
});

test('a folder that is not there is the system’s own error', () => {
  const path = join(temporaryFolder(), 'missing', 'file');
  const missing = expect.objectContaining({ code: 'ENOENT' });
  expect(() => replaceFile(path, 'new')).toThrow(missing);
  expect(() => syncToDisk(path)).toThrow(missing);
});
