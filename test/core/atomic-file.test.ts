import { randomUUID } from 'node:crypto';
import fs, {
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { failCall } from './failing-call.ts';
import {
  createFile,
  makeRequestedFolder,
  removeOldDrafts,
  replaceFile,
  writeNewFile,
  writeRequestedFile,
} from '../../src/core/atomic-file.ts';
import { syncToDisk } from '../../src/core/open-file.ts';
import { isDraft } from '../../src/core/folder.ts';
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

test('a link in the place of the file is neither followed nor written', () => {
  const path = join(temporaryFolder(), 'file.json');
  const other = join(temporaryFolder(), 'other');
  writeFileSync(other, 'kept', { mode: 0o666 });
  symlinkSync(other, path);
  replaceFile(path, 'secret');
  expect(readFileSync(other, 'utf8')).toBe('kept');
  expect(lstatSync(path).isSymbolicLink()).toBe(false);
  expect(readFileSync(path, 'utf8')).toBe('secret');
});

const failing = (call: 'fsyncSync' | 'mkdirSync' | 'rmSync', code: string): void =>
  failCall(call, Object.assign(new Error('words of the system'), { code }));

test('of a disk that fails again when the draft is removed, the first error is told', () => {
  const folder = temporaryFolder();
  failing('fsyncSync', 'ENOSPC');
  failing('rmSync', 'EIO');
  expect(() => replaceFile(join(folder, 'file'), 'text')).toThrow(expect.objectContaining({ code: 'ENOSPC' }));
});

test('a new file is there whole or not at all, and takes the place of none', () => {
  const folder = temporaryFolder();
  const file = join(folder, 'file.yaml');
  writeNewFile(file, 'whole');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(() => writeNewFile(file, 'other')).toThrow(`cannot write ${file} (EEXIST)`);
  expect(readFileSync(file, 'utf8')).toBe('whole');
  failing('fsyncSync', 'ENOSPC');
  expect(() => writeNewFile(join(folder, 'second.yaml'), 'cut')).toThrow('the disk is full (ENOSPC)');
  expect(readdirSync(folder)).toEqual(['file.yaml']);
});

test.for([
  ['ENOSPC', 'storage', 'the disk is full (ENOSPC): '],
  ['EIO', 'storage', 'the disk answers with errors (EIO): '],
  ['EMFILE', 'storage', 'too many files are open (EMFILE): '],
  ['EROFS', 'usage', 'cannot write '],
  ['EACCES', 'usage', 'cannot write '],
  ['EBUSY', 'usage', 'cannot write '],
] as const)('where a file is asked for and the system says %s, that is %s: %s', ([systemCode, code, words]) => {
  const folder = temporaryFolder();
  const told = expect.objectContaining({ code, message: expect.stringContaining(words) as string });
  failing('fsyncSync', systemCode);
  expect(() => writeRequestedFile(join(folder, 'file'), 'text')).toThrow(told);
  failing('mkdirSync', systemCode);
  expect(() => makeRequestedFolder(join(folder, 'below'))).toThrow(told);
});

test('every draft has a name of its own, and none can be in its place', () => {
  const folder = temporaryFolder();
  const drafts: string[] = [];
  const open = vi.spyOn(fs, 'openSync');
  syncBuiltinESMExports();
  onTestFinished(() => {
    open.mockRestore();
    syncBuiltinESMExports();
  });
  for (const write of [replaceFile, createFile, replaceFile]) write(join(folder, 'file'), 'text');
  for (const [path, flags] of open.mock.calls)
    if (isDraft(String(path))) {
      expect(flags).toBe('wx');
      drafts.push(String(path));
    }
  expect(new Set(drafts).size).toBe(3);
});

test('a file that is made only once stays as it is', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'file');
  createFile(path, 'first');
  createFile(path, 'second');
  expect(readFileSync(path, 'utf8')).toBe('first');
  expect(readdirSync(folder)).toEqual(['file']);
});

test('old drafts are deleted; young ones and other files stay', () => {
  const folder = temporaryFolder();
  const others = ['file', 'file.draft-1234', 'file.draft-young-not', 'a.draft.json'];
  const drafts = [`file.draft-${randomUUID()}`, 'checkpoint.draft'];
  for (const name of [...others, ...drafts]) writeFileSync(join(folder, name), '');
  removeOldDrafts(folder, Date.now() - 60_000);
  expect(readdirSync(folder)).toHaveLength(6);
  removeOldDrafts(folder, Date.now() + 60_000);
  expect(readdirSync(folder).toSorted()).toEqual(others.toSorted());
  removeOldDrafts(join(folder, 'missing'), 0);
});

test('of one file, only its own drafts are deleted', () => {
  const folder = temporaryFolder();
  const uuid = randomUUID();
  const others = [`file.draft-${uuid}.wal`, `file.draft-${uuid}.draft-${uuid}`, `other.draft-${uuid}`, 'file.draft-1'];
  for (const name of [...others, `file.draft-${uuid}`]) writeFileSync(join(folder, name), '');
  removeOldDrafts(folder, Date.now() + 60_000, 'file');
  expect(readdirSync(folder).toSorted()).toEqual(others.toSorted());
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
