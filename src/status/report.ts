import type { Database } from '../mirror/database.ts';
import { readLease, type LeaseHolder } from '../mirror/lease.ts';
import { newestPasses } from '../mirror/passes.ts';
import { countQuarantine } from '../mirror/quarantine.ts';
import { countRows, type RowCounts } from '../mirror/row-counts.ts';
import { listRuns } from '../mirror/runs.ts';
import { countSuspects, listHeldPlans, type AbsenceDataset, type HeldPlan } from '../mirror/suspects.ts';
import { readCurrent, readManifest } from '../snapshot/manifest.ts';
import { reportPass, type PassReport } from '../sync/pass-report.ts';

/** The current snapshot of a dataset. `verdict` is of the pass that vouches for it; null when there was none. */
type SnapshotReport = {
  dataset: string;
  snapshotId: string;
  createdAt: string;
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
  outcome: string;
  reason: string | null;
  requests: number;
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
  runs: RunReport[];
  lease: LeaseHolder | null;
};

const runsShown = 5;

/** Gathers where things stand. Throws `storage` when a manifest is damaged. */
export function gatherStatus(db: Database, dataDir: string): StatusReport {
  return {
    dataDir,
    rows: countRows(db),
    quarantine: countQuarantine(db),
    passes: newestPasses(db).map(reportPass),
    suspects: countSuspects(db),
    held: listHeldPlans(db),
    snapshots: Object.entries(readCurrent(dataDir).snapshots).map(
      ([dataset, { snapshot_id: snapshotId }]) => {
        const { created_at: createdAt, rows, files, pass } = readManifest(dataDir, dataset, snapshotId);
        const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
        return {
          dataset,
          snapshotId,
          createdAt,
          rows,
          files: files.length,
          bytes,
          verdict: pass?.verdict ?? null,
        };
      },
    ),
    runs: listRuns(db, runsShown).map((run) => ({
      id: run.id,
      job: run.job,
      startedAt: run.started_at,
      finishedAt: run.finished_at,
      outcome: run.outcome ?? 'running',
      reason: run.reason,
      requests: run.requests,
    })),
    lease: readLease(db) ?? null,
  };
}
