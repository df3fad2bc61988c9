import { AppError, systemCode } from '../../core/errors.ts';
import type { Database } from '../../mirror/database.ts';
import { publishedFileAt } from '../../snapshot/published-files.ts';
import type { ParquetReader } from '../../snapshot/read-parquet.ts';
import { decodeMirror, decodeParquet, isParquet } from './decode-files.ts';
import { createRowJudge, type RowJudge } from './judge-rows.ts';
import type { Needles } from './needles.ts';
import { createFindings, type Findings, mirrorPlace, type ScanTask } from './scan-task.ts';
import { listFiles, type ListedFile, type RawSearch } from './search-files.ts';
import type { SharedText } from './shared-text.ts';
import type { SoughtRows } from './sought-rows.ts';

/** A scan under way: what it looks for, where it has come to, and what it has found. */
export type Scan = {
  task: ScanTask;
  findings: Findings;
  judge: RowJudge;
  /** The rows that are judged; undefined: all. */
  sought: SoughtRows | undefined;
  needles: Needles;
  shared: SharedText;
  search: RawSearch;
  reader: ParquetReader;
  /** The mirror; undefined before it is opened, and when it cannot be. */
  db: Database | undefined;
  /** Reads all rows, some at a time, for the text that others' rows share; null before it is needed. */
  lessons: AsyncGenerator<void> | null;
  /** `read`: the files of which anything was read, by place. */
  sums: { read: Set<string>; bytes: number; rows: number };
};

// Each step yields after some rows.

/** Reads the mirror's rows, once it is open. */
export async function* readMirror(scan: Scan): AsyncGenerator<void> {
  if (scan.db) yield* takeRows(scan, mirrorPlace, decodeMirror(scan.db, scan.judge, scan.sought));
}

/** Reads the rows of Parquet files; of all that are not passed over, unless told which. */
export async function* readParquet(scan: Scan, files = parquetFiles(scan)): AsyncGenerator<void> {
  const { reader, task, judge, sought } = scan;
  for (const file of files) yield* takeRows(scan, file.place, decodeParquet(reader, task.dataDir, file, judge, sought));
}

function parquetFiles({ task }: Scan): ListedFile[] {
  const passedOver = new Set(task.passedOver);
  const listed = listFiles(task.dataDir, '', { isLeftOut: (place) => passedOver.has(place) });
  return [...listed].filter((file) => file.problem === null && isParquet(file));
}

/** Takes some rows at a time. What cannot be read is reported. */
async function* takeRows(
  { findings, sums }: Scan,
  place: string,
  batches: Iterable<number> | AsyncIterable<number>,
): AsyncGenerator<void> {
  try {
    for await (const rows of batches) {
      sums.read.add(place);
      sums.rows += rows;
      yield;
    }
  } catch (error) {
    findings.addUnreadable(place, reasonOf(error));
  }
}

/** Reports the matches that no row of others excuses. Reads rows that were not judged only as long as matches wait. */
export async function settle(scan: Scan): Promise<void> {
  if (scan.sought) scan.lessons ??= readAll(scan);
  // To ask which matches wait costs much where they are many.
  for (let batches = 1; scan.search.isWaiting() && (await learn(scan.lessons, batches)); batches *= 2);
  scan.search.report();
}

/** Reads so many batches of rows. Returns whether there were so many. */
async function learn(lessons: Scan['lessons'], batches: number): Promise<boolean> {
  for (let batch = 0; batch < batches; batch += 1) if ((await lessons?.next())?.done !== false) return false;
  return true;
}

/** What these rows say of subjects has been judged, or will be. */
async function* readAll(scan: Scan): AsyncGenerator<void> {
  for (const step of [readMirror, readParquet]) yield* step(learningOf(scan));
}

/** The scan with a judge that learns from every row, and finds nobody. */
function learningOf(scan: Scan): Scan {
  const judge = createRowJudge(scan.task.subjects, createFindings([]), scan.shared, undefined);
  return { ...scan, judge, sought: undefined };
}

/** So many batches of the rows of each dataset hold nearly all that rows share. */
const firstBatches = 10;

/**
 * Learns from some published rows what rows share, before the mirror is searched, which cannot be opened yet. A search that stops at all
 * of that takes several times as long.
 */
export async function learnSome(scan: Scan): Promise<void> {
  if (!scan.sought) return;
  const learning = { ...learningOf(scan), sums: { ...scan.sums, read: new Set<string>() } };
  // The first files of a dataset are parts, and the last can be lists of deleted rows.
  const files = parquetFiles(scan).toReversed();
  for (const file of new Map(files.map((each) => [publishedFileAt(each.place)?.dataset, each])).values()) {
    let batches = 0;
    for await (const _some of readParquet(learning, [file])) if ((batches += 1) === firstBatches) break;
  }
  scan.search.passOverShared();
}

/** Why something cannot be read, without the words of the error, which may quote data. Rethrows any other error. */
export function reasonOf(error: unknown): string {
  const code = systemCode(error);
  if (error instanceof AppError) return systemCode(error.cause) ?? error.message;
  if (code === undefined) throw error;
  return code;
}
