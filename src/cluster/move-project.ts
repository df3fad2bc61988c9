import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../core/clock.ts';
import { AppError, usageError } from '../core/errors.ts';
import { copyFiles, makeFolder } from '../core/folder.ts';
import { runsUnderWay } from '../job/lease.ts';
import { entriesPath, ledgerFolder, readLines } from '../ledger/entry-file.ts';
import type { EntryStore } from '../ledger/ledger.ts';
import { readEntry } from '../ledger/entry.ts';
import { compactTree } from '../ledger/merkle.ts';
import { databasePath, openDatabase, type Database } from '../mirror/database.ts';
import { listRequests } from '../mirror/erasure-requests.ts';
import { copyInto } from '../mirror/run-query.ts';
import { publishedFilesIn } from '../snapshot/published-files.ts';
import { archived } from './archive.ts';
import { endLease } from './project-state.ts';

/**
 * Fills the data folder of a project that the bucket does not have yet from a folder that is none of a cluster, and puts the entries of
 * its ledger there. That folder stays as it is. After a kill, the next call goes on. Throws `usage` where a state stands already, or the
 * entries of another ledger, `busy` while a run holds the folder.
 */
export async function importProject(
  from: string,
  { dataDir, clock, signal }: { dataDir: string; clock: Clock; signal: AbortSignal },
  { isNew, store }: { isNew: boolean; store: EntryStore },
): Promise<void> {
  if (!existsSync(databasePath(from)))
    throw usageError(`there is no project in ${from}`, 'name a data folder: --from FOLDER');
  const entriesOf = (folder: string): Iterable<Buffer> => readLines(entriesPath(ledgerFolder(folder)));
  const standing = store.read(compactTree());
  if (!isNew || (standing && !areSame(standing, entriesOf(from))))
    throw usageError(
      'the bucket has a state of this project already',
      'a state is never replaced: give another cluster.storage, or work with the one that is there',
    );
  using db = openDatabase(from, clock);
  if (runsUnderWay(db, clock.now()).length > 0)
    throw new AppError(`a run holds ${from}`, { code: 'busy', hint: 'try again when it has ended' });
  await copyProject(db, { from, to: dataDir }, { clock, signal });
  if (!standing) for (const _line of store.keep(compactTree(), entriesOf(dataDir)));
}

function areSame(lines: Iterable<Buffer>, others: Iterable<Buffer>): boolean {
  const rest = others[Symbol.iterator]();
  for (const line of lines) if (rest.next().value?.equals(line) !== true) return false;
  return rest.next().done === true;
}

/**
 * Throws `usage` where the bucket has the ledger of a project, and no state: a move there was interrupted. A project that began in a
 * cluster has one entry in its first append, which says who took it over.
 */
export function refuseHalfMoved(store: EntryStore): void {
  const [first, ...more] = store.read(compactTree()) ?? [];
  const entry = first && readEntry(first);
  if (!first || (more.length === 0 && typeof entry === 'object' && entry.type === 'taken_over')) return;
  throw usageError(
    'the bucket has the ledger of this project, and not its state: `cluster import` was interrupted',
    'run it again, with the same folder',
  );
}

/** Makes a data folder of a project, for a program that works without a cluster. Nothing may write to the project meanwhile. */
export async function exportProject(
  db: Database,
  { from, to }: { from: string; to: string },
  tools: { clock: Clock; signal: AbortSignal },
): Promise<void> {
  if (existsSync(to) && readdirSync(to).length > 0)
    throw usageError(`${to} is not empty`, 'name a folder that is not there yet: --to FOLDER');
  if (listRequests(db, 'open').some(({ fencedAt, certifiedAt }) => fencedAt !== null && certifiedAt === null))
    throw usageError(
      'erasure requests are open, which only the cluster can end',
      'run `analytics-mirror reconcile` until `analytics-mirror erase list` names none that was begun',
    );
  makeFolder(to);
  await copyProject(db, { from, to }, tools);
}

/** The mirror comes last: a folder without one is no project. */
async function copyProject(
  db: Database,
  { from, to }: { from: string; to: string },
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<void> {
  const beside = archived.map((name) => [join(from, name), join(to, name)] as const);
  const published = [publishedFilesIn(from).localFolder, publishedFilesIn(to).localFolder] as const;
  for (const [source, target] of [...beside, published]) copyFiles(source, target);
  await copyInto(db, databasePath(to), signal);
  endLease(to, clock);
}
