import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Database } from 'better-sqlite3';
import { runApart } from '../core/apart.ts';
import { type AppError, usageError } from '../core/errors.ts';
import { freeBytesAt } from '../core/folder.ts';
import { bytesText, countedText } from '../core/words.ts';
import type { QueryResult } from './query.ts';

const queryProcess = fileURLToPath(new URL('./query-process.ts', import.meta.url));
/** So much may be written in any case: pages of an index, and the answer itself. */
const bytesMin = 100_000_000;

/** A statement, the folder of its mirror, and how many rows are shown. Null: one of the program itself, as a writer. */
export type QueryTask = { dataDir: string; sql: string; rowsMax: number | null };

/** What the process of a statement does: a statement, or `overwriteDeleted`. */
export type ProcessTask = QueryTask | { dataDir: string; overwrites: true };

/** What ends a statement: its time, the bytes that it writes for itself, a disk that is left with less room, a signal. */
export type QueryLimits = {
  secondsMax: number;
  temporaryBytesMax: number;
  diskFreeBytesMin: number;
  signal: AbortSignal;
};

/**
 * Runs a statement in a process of its own, since nothing else can end one: SQLite blocks its thread. Rejects as `queryMirror`
 * does, with `usage` for a statement beyond the limits, and with the signal's reason.
 */
export async function runQuery(task: QueryTask, { signal, ...limits }: QueryLimits): Promise<QueryResult> {
  const beganAtMs = performance.now();
  const freeBytes = freeBytesAt(task.dataDir);
  const bytesMax = Math.min(limits.temporaryBytesMax, Math.max(bytesMin, freeBytes - limits.diskFreeBytesMin));
  return await runTask<QueryResult>(task, signal, (pid) => {
    if ((performance.now() - beganAtMs) / 1000 > limits.secondsMax)
      return tooMuch(`it ran longer than ${countedText(limits.secondsMax, 'second')}`, 'query.secondsMax');
    if (writtenBytes(pid) > bytesMax)
      return tooMuch(`it wrote more than ${bytesText(bytesMax)} of temporary files`, 'query.temporaryBytesMax');
    return undefined;
  });
}

/** Below this size of its file, a mirror is read in a part of a second: a process would cost more. */
const apartBytesMin = 32_000_000;

/** Whether what reads the whole mirror is to run apart, so that it does not block this process. */
export function isLarge(db: Database): boolean {
  return statSync(db.name).size > apartBytesMin;
}

/** What SQLite says of the structure of the whole file: `ok`, or what is wrong first. */
export async function checkStructure(db: Database, signal: AbortSignal): Promise<unknown> {
  if (!isLarge(db)) return db.pragma('quick_check(1)', { simple: true });
  const task = { dataDir: dirname(db.name), sql: 'PRAGMA quick_check(1)', rowsMax: 1 };
  const { rows } = await runTask<QueryResult>(task, signal);
  return rows[0]?.[0];
}

/** Runs `overwriteDeleted` as a process. An abort leaves a file that is as good, with what was deleted. */
export async function overwriteApart(db: Database, signal: AbortSignal): Promise<boolean> {
  return await runTask<boolean>({ dataDir: dirname(db.name), overwrites: true }, signal);
}

/** Writes a copy of the whole file, without what was deleted, to a path where nothing stands. An abort may leave a part of it. */
export async function copyInto(db: Database, path: string, signal: AbortSignal): Promise<void> {
  // For its owner only: SQLite fills an empty file.
  closeSync(openSync(path, 'wx', 0o600));
  const sql = /*sql*/ `VACUUM INTO '${path.replaceAll("'", "''")}'`;
  if (isLarge(db)) await writeApart(db, sql, signal);
  else db.exec(sql);
}

/** Copies the write-ahead log back into the file, as far as no reader needs it. */
export async function copyLogBack(db: Database, signal: AbortSignal): Promise<void> {
  await writeApart(db, /*sql*/ `PRAGMA wal_checkpoint(PASSIVE)`, signal);
}

async function writeApart(db: Database, sql: string, signal: AbortSignal): Promise<void> {
  await runTask<boolean>({ dataDir: dirname(db.name), sql, rowsMax: null }, signal);
}

async function runTask<Result extends QueryResult | boolean>(
  task: ProcessTask,
  signal: AbortSignal,
  overLimit?: (pid: number) => AppError | undefined,
): Promise<Result> {
  const apart = { signal, what: 'the process of the query', overLimit };
  return (await runApart(queryProcess, [JSON.stringify(task)], apart)) as Result;
}

function tooMuch(why: string, setting: string): AppError {
  return usageError(
    `the query was ended: ${why}`,
    `ask for less, or raise ${setting}; the disk keeps alerts.diskFreeBytesMin free`,
  );
}

/** How much a process has written, as Linux counts it; 0 elsewhere. */
function writtenBytes(pid: number): number {
  try {
    return Number(/^wchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
