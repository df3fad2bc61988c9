import { fileURLToPath } from 'node:url';
import { runApart } from '../../core/apart.ts';
import { shrinkHeap } from '../../core/heap.ts';
import { mirrorPlace, taskLines, type OrderedSubject, type ScanOrder, type ScanReport } from './scan-task.ts';
import type { JobContext } from '../../job/job-context.ts';
import type { LedgerRecord } from '../../ledger/record.ts';
import { listPublishedParts } from '../../snapshot/published-parts.ts';
import { placeOf, type PublishedFiles } from '../../snapshot/published-files.ts';
import { isPersonal } from '../../snapshot/subject-rows.ts';
import type { OpenedBox } from '../request/box.ts';

const scanProcess = fileURLToPath(new URL('./scan-process.ts', import.meta.url));
/** Longer than a scan of any data folder that fits on one machine. */
const lastsMaxMs = 6 * 3_600_000;
// A scanner keeps its heap near what is in use, as `start-up.ts` does for a large heap: memory counts more than time.
const heapFlags = ['--min-semi-space-size=8', '--max-semi-space-size=8', '--heap-growing-percent=20'];

/**
 * Scans in a process of its own. Rejects with the signal's reason when aborted, and with `storage` when the scanner fails or takes
 * longer than `timeoutMs`; that process is gone then. No value of a subject is in any argument, environment, or error.
 */
export async function runScan(
  task: ScanOrder,
  { signal, timeoutMs = lastsMaxMs }: { signal: AbortSignal; timeoutMs?: number },
): Promise<ScanReport> {
  shrinkHeap();
  const apart = { signal, what: 'the scanner', flags: heapFlags, timeoutMs };
  return (await runApart(scanProcess, taskLines(task), apart)) as ScanReport;
}

/** How a scan is run: by a process of its own. Tests may run it in theirs for a time. */
export const scanner = { scan: runScan };

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
    .map(placeOf);
}
