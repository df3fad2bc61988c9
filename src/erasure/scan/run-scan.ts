import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { AppError, systemCode } from '../../core/errors.ts';
import { shrinkHeap } from '../../core/heap.ts';
import { readJson } from '../../core/exact-json.ts';
import { mirrorPlace, ScanFailure, ScanReport, taskLines, type OrderedSubject, type ScanOrder } from './scan-task.ts';
import type { JobContext } from '../../job/job-context.ts';
import type { LedgerRecord } from '../../ledger/record.ts';
import { listPublishedParts } from '../../snapshot/published-parts.ts';
import { placeOf, type PublishedFiles } from '../../snapshot/published-files.ts';
import { isPersonal } from '../../snapshot/subject-rows.ts';
import type { OpenedBox } from '../request/box.ts';

const scanProcess = fileURLToPath(new URL('./scan-process.ts', import.meta.url));
/** Longer than a scan of any data folder that fits on one machine. */
const lastsMaxMs = 6 * 3_600_000;
const reportBytesMax = 256 * 1024 * 1024;
// A scanner keeps its heap near what is in use, as `start-up.ts` does for a large heap: memory counts more than time.
const heapFlags = ['--min-semi-space-size=8', '--max-semi-space-size=8', '--heap-growing-percent=20'];

/** How a scan is run. */
export type RunScanOptions = {
  /** Ends the scan at once. */
  signal: AbortSignal;
  /** How long it may take at most. */
  timeoutMs?: number;
};

/**
 * Scans in a process of its own. Rejects with the signal's reason when aborted, and with `storage` when the scanner
 * fails, takes too long, or answers with anything but a report; that process is gone then. No value of a subject is in
 * any argument, environment, or error.
 */
export async function runScan(
  task: ScanOrder,
  { signal, timeoutMs = lastsMaxMs }: RunScanOptions,
): Promise<ScanReport> {
  signal.throwIfAborted();
  shrinkHeap();
  const child = spawn(process.execPath, [...heapFlags, scanProcess], {
    // It needs nothing of the environment, where the API key is.
    env: {},
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const kill = (): void => void child.kill('SIGKILL');
  // Not Node's own timeout: where the process cannot be started, that would keep this one from ending for as long.
  const ends = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  ends.addEventListener('abort', kill, { once: true });
  try {
    const [[code], report, failure] = await Promise.all([
      (once(child, 'close') as Promise<[number | null]>).catch(refuseStart),
      collect(child.stdout, kill),
      collect(child.stderr, kill),
      // A scanner can end before it has read its task. Its exit code says why.
      pipeline(Readable.from(taskLines(task)), child.stdin).catch(() => undefined),
    ]);
    signal.throwIfAborted();
    if (code !== 0) throw failureOf(failure);
    return readReport(report);
  } finally {
    ends.removeEventListener('abort', kill);
    kill();
  }
}

/** How a scan is run: by a process of its own. Tests may run it in theirs for a time. */
export const scanner: { scan: (task: ScanOrder, options: RunScanOptions) => Promise<ScanReport> } = { scan: runScan };

/** The whole text of a stream. The scanner is ended when the text becomes too long. */
async function collect(stream: Readable, kill: () => void): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += (chunk as Buffer).length;
    if (bytes > reportBytesMax) kill();
    else chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString();
}

function readReport(text: string): ScanReport {
  const report = ScanReport.safeParse(readJson(text));
  if (!report.success) throw failureOf('');
  return report.data;
}

function refuseStart(cause: unknown): never {
  throw new AppError(`the scanner cannot be started (${systemCode(cause) ?? 'unknown'})`, {
    code: 'storage',
    hint: 'a program that was replaced while it runs has to be started again',
    cause,
  });
}

/** The error of a failed scan. The scanner's text is passed on only if it keeps to the format of a failure. */
function failureOf(stderr: string): AppError {
  const said = ScanFailure.safeParse(readJson(stderr.trim().split('\n').at(-1) ?? '')).data;
  return new AppError(said?.message ?? 'the scanner was ended before it had a result', {
    code: 'storage',
    hint: said?.hint ?? 'run it again; `doctor` checks the data folder',
  });
}

/** What a scan before or after a purge found of each subject, and what the ledger is to hold of it. */
export type SubjectScan<S> = {
  found: { subject: S; hits: number; record: LedgerRecord }[];
  unreadable: ScanReport['unreadable'];
};

/**
 * What a scan reads. `files`: the places of the published files that have to be read; a search has just found no subject in the
 * others, and they are passed over. Null: every file is read. `mirror`: whether the mirror is read.
 */
export type ScanReach = { files: ReadonlySet<string> | null; mirror: boolean };

/**
 * Scans the data folder for subjects, as a control before a purge or to verify it after. `open` is called once for each subject, whose identifiers are asked for once: they can be many. Throws as `runScan` does.
 */
export async function scanForSubjects<S extends { id: string }>(
  { settings, published, signal }: Pick<JobContext, 'settings' | 'published' | 'signal'>,
  phase: 'control' | 'verify',
  subjects: readonly S[],
  open: (subject: S) => OpenedBox | undefined,
  { files: mustRead, mirror }: ScanReach,
): Promise<SubjectScan<S>> {
  const { dataDir } = settings;
  const passedOver = [
    ...(mustRead ? listPersonalFiles(published).filter((place) => !mustRead.has(place)) : []),
    ...(mirror ? [] : [mirrorPlace]),
  ];
  const leftOut = new Map<string, number>();
  const opened = function* (): Generator<OrderedSubject> {
    for (const subject of subjects) {
      const box = open(subject);
      if (!box) continue;
      const { values, leftOut: left } = box.details;
      if (left !== undefined) leftOut.set(subject.id, left);
      yield { request: subject.id, identities: box.identities(), values };
    }
  };
  const report = await scanner.scan(
    { dataDir, phase, subjects: opened(), fence: false, extraPaths: [], passedOver },
    { signal },
  );
  const found = subjects.map((subject) => {
    const one = report.subjects.find(({ request }) => request === subject.id);
    if (!one) throw new Error('a scan that left a subject out');
    const left = leftOut.get(subject.id);
    const record: LedgerRecord = {
      type: 'scan',
      requests: [subject.id],
      phase,
      files: report.files,
      bytes: report.bytes,
      // Pieces that rows of others hold too prove nothing.
      needles: one.needles - one.shared,
      hits: one.hits,
      passed_over: passedOver.length,
      ...(left === undefined ? {} : { left_out: left }),
    };
    return { subject, hits: one.hits, record };
  });
  return { found, unreadable: report.unreadable };
}

/** The places of all published files, of every generation, that can hold a person. */
function listPersonalFiles(published: PublishedFiles): string[] {
  return listPublishedParts(published)
    .filter(({ dataset }) => isPersonal(dataset))
    .map(({ dataset, snapshotId, file }) => placeOf({ dataset, snapshotId, name: file.name }));
}
