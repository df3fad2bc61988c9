import { randomUUID } from 'node:crypto';
import { renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { draftLivesMs, makeRequestedFolder } from '../core/atomic-file.ts';
import { isoTime, type Clock } from '../core/clock.ts';
import { AppError, systemCode, usageError } from '../core/errors.ts';
import { copyFiles, entriesBelow, isWithin, namesIn, readRegularFile, removeLeft } from '../core/folder.ts';
import { openFile, syncToDisk } from '../core/open-file.ts';
import { keyPath } from '../core/secret-key.ts';
import { explainStorageError } from '../core/storage-error.ts';
import { publicKeysPath, readLedgerOrigin } from '../ledger/checkpoint.ts';
import { ledgerFolder } from '../ledger/entry-file.ts';
import { readLedger } from '../ledger/ledger.ts';
import { signingKeyName } from '../ledger/signing-key.ts';
import { refuseOtherLedger } from './other-ledger.ts';
import { databasePath, mirrorMadeAt, openDatabaseReadOnly, type Database } from '../mirror/database.ts';

/** A backup: its folder, its bytes, the entries of its ledger, and how many older ones were removed for it. */
export type Backup = { folder: string; bytes: number; entries: number; removed: number };

/**
 * What is copied, in this order: what is signed is never older than what it signs, and the ledger is never older than the mirror, so
 * that jobs may go on. Published files are made again, and older ones hold people who were erased since; `restore.key` is in the mirror.
 */
const copied = [
  'ledger/time-stamps',
  'ledger/checkpoints',
  'ledger/entries.jsonl',
  'ledger/public-keys.txt',
  'keys',
  'reports',
  'callbacks.json',
];

const backupName = /^\d{8}T\d{6}Z$/;
const draftName = /^\d{8}T\d{6}Z\.[\da-f-]{36}\.unfinished$/;

/**
 * Copies what a data folder has to `to`, into a folder that is named after the time, and looks at the copy. `keep`: so many of these
 * stay; older ones are removed. A kill leaves a folder that says that it is unfinished, which a later call removes. Throws `usage` for a
 * place that cannot be written, or in the data folder, where scans would find the copied people, and `storage` where the copy cannot be made or read.
 */
export function backUp(
  db: Database,
  { dataDir, to, keep, clock }: { dataDir: string; to: string; keep: number; clock: Clock },
): Backup {
  if (isWithin(dataDir, to))
    throw usageError(
      `${to} is in the data folder, where an erasure would find the people in the copy`,
      'name a folder outside, on another disk at best',
    );
  const name = isoTime(clock.now()).replaceAll(/[-:]|\.\d+/gu, '');
  // Backups of several projects into one place may begin in the same second.
  const [folder, draft] = [join(to, name), join(to, `${name}.${randomUUID()}.unfinished`)];
  try {
    makeRequestedFolder(to);
    removeUnfinished(to, clock.now() - draftLivesMs);
    makeRequestedFolder(join(draft, 'ledger'));
    const mirror = databasePath(draft);
    // For its owner only. SQLite would tell of a file that it cannot make, and not why.
    openFile(mirror, 'wx', 0o600)[Symbol.dispose]();
    // Live rows only: a copy of pages would take freed ones along.
    db.prepare(/*sql*/ `VACUUM INTO ?`).run(mirror);
    copyParts(dataDir, draft);
    const files = entriesBelow(draft).map((entry) => join(entry.parentPath, entry.name));
    const entries = lookAt(draft);
    for (const file of files) syncToDisk(file);
    renameSync(draft, folder);
    syncToDisk(to);
    const bytes = files.reduce((sum, file) => sum + statSync(file.replace(draft, folder)).size, 0);
    return { folder, bytes, entries, removed: removeOlder(to, name, { dataDir, keep }) };
  } catch (error) {
    removeLeft(draft);
    if (systemCode(error) === 'ENOTEMPTY')
      throw new AppError(`${folder} is there already`, { code: 'storage', hint: 'try again in a second' });
    if (systemCode(error)?.startsWith('SQLITE_CANTOPEN'))
      throw new AppError(`SQLite cannot make a file in ${to}`, {
        code: 'storage',
        hint: 'see whether its disk is full or answers with errors, and whether this user may write there',
        cause: error,
      });
    throw explainStorageError(error, to) ?? error;
  }
}

/** Copies the parts, once more where the signing key is replaced meanwhile: a key of after does not fit entries of before. */
function copyParts(dataDir: string, draft: string): void {
  const keyFiles = [publicKeysPath(ledgerFolder(dataDir)), keyPath(dataDir, signingKeyName)];
  const keys = (): string => keyFiles.map((path) => readRegularFile(path)).join('');
  for (const _attempt of [1, 2]) {
    const before = keys();
    for (const part of copied) copyFiles(join(dataDir, part), join(draft, part));
    if (keys() === before) return;
  }
  throw new AppError('the signing key was replaced each time that it was copied', {
    code: 'busy',
    hint: 'run the command again once `audit rotate-key` has ended',
  });
}

/** Reads mirror and ledger of a copy, and says how many entries the ledger has. Throws as `refuseOtherLedger`. */
function lookAt(draft: string): number {
  const ledger = readLedger(draft);
  using db = openDatabaseReadOnly(draft, 'user');
  refuseOtherLedger(db, ledger);
  return ledger.size();
}

function removeUnfinished(to: string, beforeMs: number): void {
  // Another backup may end meanwhile, and take its draft away.
  const changedMs = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  for (const draft of namesIn(to).flatMap((name) => (draftName.test(name) ? [join(to, name)] : [])))
    // What is being written into a draft changes the file, and not the folder.
    if (Math.max(changedMs(draft), changedMs(databasePath(draft))) < beforeMs)
      rmSync(draft, { recursive: true, force: true });
}

/**
 * Keeps the copy just made and the newest others of the same ledger: other projects may be copied to the same place. Before the first
 * request there is no ledger: then, of the same mirror. Names tell the times of a clock that may have been wrong: a name later than that
 * of the copy just made is no proof of a newer one. Who works in a copy that was restored where it lies keeps it, as long as it is the
 * data folder.
 */
function removeOlder(to: string, made: string, { dataDir, keep }: { dataDir: string; keep: number }): number {
  const [ledger, mirror] = [readLedgerOrigin(join(to, made)), mirrorMadeAt(join(to, made))];
  const isOwn = (name: string): boolean => {
    const other = readLedgerOrigin(join(to, name));
    return ledger && other ? ledger === other : mirror !== undefined && mirror === mirrorMadeAt(join(to, name));
  };
  const older = namesIn(to)
    .filter((name) => backupName.test(name) && name !== made && !isWithin(join(to, name), dataDir) && isOwn(name))
    .toSorted((a, b) => Number(a > made) - Number(b > made) || (a < b ? 1 : -1))
    .slice(keep - 1);
  for (const name of older) rmSync(join(to, name), { recursive: true, force: true });
  return older.length;
}
