import type { Database } from '../mirror/database.ts';
import type { RequestState } from '../ledger/vocabulary.ts';
import { countRequests, listRequests } from '../mirror/erasure-requests.ts';
import { countFence } from '../mirror/fence.ts';
import { readLease, type LeaseHolder } from '../mirror/lease.ts';
import { newestPasses } from '../mirror/passes.ts';
import { countQuarantine } from '../mirror/quarantine.ts';
import { countRows, type RowCounts } from '../mirror/row-counts.ts';
import { listRuns, type Run, type RunOutcome } from '../mirror/runs.ts';
import { countSuspects, listHeldPlans, type AbsenceDataset, type HeldPlan } from '../mirror/suspects.ts';
import { readCurrent, readManifest } from '../snapshot/manifest.ts';
import { reportPass, type PassReport } from '../sync/pass-report.ts';

/**
 * The current full snapshot of a dataset, how many deltas go on from it, and when the newest of all was published.
 * `verdict` is of the pass that vouches for the full one; null when there was none.
 */
export type SnapshotReport = {
  dataset: string;
  snapshotId: string;
  createdAt: string;
  deltas: number;
  updatedAt: string;
  rows: number;
  files: number;
  bytes: number;
  verdict: string | null;
};

/** One run of a job, as recorded. */
type RunReport = {
  id: number;
  job: string;
  startedAt: string;
  finishedAt: string | null;
  outcome: RunOutcome | 'running';
  reason: string | null;
  requests: number;
};

/** How requests to erase people stand. */
export type ErasureReport = {
  /** Requests by state. */
  states: Partial<Record<RequestState, number>>;
  /** Open requests whose due date is past. */
  overdue: number;
  /** When the first due date of an open request is, and when the last batch of the service should have run. */
  nextDueAt: string | null;
  eventsExpectedBy: string | null;
  /** Entries of the fence, and how often they kept a row out. */
  fence: { entries: number; hits: number; recreated: number };
};

/** Where things stand in a data folder. Holds no personal data. */
export type StatusReport = {
  dataDir: string;
  rows: RowCounts;
  quarantine: Record<string, number>;
  passes: PassReport[];
  /** Rows that a complete pass did not see, and that the service is still to be asked for. */
  suspects: Record<AbsenceDataset, number>;
  /** Deletions that wait for a person. */
  held: HeldPlan[];
  snapshots: SnapshotReport[];
  erasure: ErasureReport;
  runs: RunReport[];
  lease: LeaseHolder | null;
};

const runsShown = 5;

/** Gathers where things stand at a time (ISO 8601 UTC). Throws `storage` when a manifest is damaged. */
export function gatherStatus(db: Database, dataDir: string, now: string): StatusReport {
  return {
    dataDir,
    rows: countRows(db),
    quarantine: countQuarantine(db),
    passes: newestPasses(db).map(reportPass),
    suspects: countSuspects(db),
    held: listHeldPlans(db),
    snapshots: reportSnapshots(dataDir),
    erasure: gatherErasure(db, now),
    runs: listRuns(db, runsShown).map(reportRun),
    lease: readLease(db) ?? null,
  };
}

/** Reports a run of the mirror. */
export function reportRun(run: Run): RunReport {
  return {
    id: run.id,
    job: run.job,
    startedAt: run.started_at,
    finishedAt: run.finished_at,
    outcome: run.outcome ?? 'running',
    reason: run.reason,
    requests: run.requests,
  };
}

/** The current snapshot of each dataset. Throws `storage` when a manifest is damaged. */
export function reportSnapshots(dataDir: string): SnapshotReport[] {
  return Object.entries(readCurrent(dataDir).snapshots).map(([dataset, current]) => {
    const { snapshot_id: snapshotId, deltas = [] } = current;
    const newestId = deltas.at(-1)?.snapshot_id ?? snapshotId;
    const { created_at: updatedAt } = readManifest(dataDir, dataset, newestId);
    const { created_at: createdAt, rows, files, pass } = readManifest(dataDir, dataset, snapshotId);
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    const verdict = pass?.verdict ?? null;
    return {
      dataset,
      snapshotId,
      createdAt,
      deltas: deltas.length,
      updatedAt,
      rows,
      files: files.length,
      bytes,
      verdict,
    };
  });
}

/** How requests to erase people stand at a time (ISO 8601 UTC). */
export function gatherErasure(db: Database, now: string): ErasureReport {
  const open = listRequests(db, 'open').filter(({ certifiedAt }) => certifiedAt === null);
  const times = (of: 'dueAt' | 'eventsExpectedBy'): string[] =>
    open.flatMap((request) => request[of] ?? []).toSorted();
  return {
    states: countRequests(db),
    overdue: open.filter(({ dueAt }) => dueAt < now).length,
    nextDueAt: times('dueAt').at(0) ?? null,
    eventsExpectedBy: times('eventsExpectedBy').at(-1) ?? null,
    fence: countFence(db),
  };
}
