import { expect, test } from 'vitest';
import { explainStorageError } from '../../src/core/storage-error.ts';

const withCode = (code: string) => Object.assign(new Error('words of the system'), { code });

test.for([
  ['ENOSPC', 'storage', 'the disk is full'],
  ['EMFILE', 'storage', 'too many files are open'],
  ['ENFILE', 'storage', 'too many files are open'],
  ['EDQUOT', 'storage', 'the disk is full'],
  ['SQLITE_FULL', 'storage', 'the disk is full'],
  ['EACCES', 'storage', 'the data folder cannot be written'],
  ['EPERM', 'storage', 'the data folder cannot be written'],
  ['EROFS', 'storage', 'the disk is read-only'],
  ['EXDEV', 'storage', 'the data folder stands on several disks'],
  ['SQLITE_PERM', 'storage', 'the data folder cannot be written'],
  ['SQLITE_READONLY', 'storage', 'the data folder cannot be written'],
  ['SQLITE_READONLY_DBMOVED', 'storage', 'the data folder cannot be written'],
  ['SQLITE_NOTADB', 'storage', 'mirror.db is damaged or not a SQLite database'],
  ['SQLITE_CORRUPT', 'storage', 'mirror.db is damaged or not a SQLite database'],
  ['SQLITE_CORRUPT_VTAB', 'storage', 'mirror.db is damaged or not a SQLite database'],
  ['SQLITE_BUSY', 'busy', 'another process holds mirror.db'],
  ['SQLITE_BUSY_SNAPSHOT', 'busy', 'another process holds mirror.db'],
  ['SQLITE_LOCKED', 'busy', 'another process holds mirror.db'],
  ['ENOTDIR', 'storage', 'the data folder cannot be opened'],
  ['EEXIST', 'storage', 'the data folder cannot be opened'],
  ['EISDIR', 'storage', 'something else stands where a file should be'],
  ['ELOOP', 'storage', 'something else stands where a file should be'],
  ['ENOENT', 'storage', 'the data folder cannot be opened'],
  ['SQLITE_CANTOPEN', 'storage', 'the data folder cannot be opened'],
  ['SQLITE_CANTOPEN_ISDIR', 'storage', 'the data folder cannot be opened'],
  ['EIO', 'storage', 'the disk answers with errors'],
  ['EINVAL', 'storage', 'the file system refuses what this program needs'],
  ['EOPNOTSUPP', 'storage', 'the file system refuses what this program needs'],
  ['EBUSY', 'storage', 'a file or folder is in use'],
  ['SQLITE_IOERR', 'storage', 'the disk answers with errors'],
  ['SQLITE_IOERR_WRITE', 'storage', 'the disk answers with errors'],
] as const)('%s is %s: %s', ([systemCode, code, sentence]) => {
  const cause = withCode(systemCode);
  const explained = explainStorageError(cause, '/data');
  expect(explained).toMatchObject({ code, message: `${sentence} (${systemCode}): /data`, cause, retryable: false });
  expect(explained?.hint).toMatch(/\w/);
});

test.for(['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_ERROR', 'ECONNRESET', 'XENOSPC', 'ENOSPCX', 'SQLITE_FULLER'])(
  '%s is left to whoever knows it',
  (code) => {
    expect(explainStorageError(withCode(code), '/data')).toBeUndefined();
  },
);

test('what has no code is left as it is', () => {
  expect(explainStorageError(new Error('ENOSPC'), '/data')).toBeUndefined();
  expect(explainStorageError({ code: 'ENOSPC' }, '/data')).toBeUndefined();
  expect(explainStorageError('ENOSPC', '/data')).toBeUndefined();
});
