import { z } from 'zod';
import type { Database } from '../mirror/database.ts';
import { datasets, type PagedDataset } from '../contract/datasets.ts';
import type { RequestState } from '../ledger/vocabulary.ts';
import { countRequests, listRequests } from '../mirror/erasure-requests.ts';
import { readStandings, type DestinationStanding } from '../mirror/destinations.ts';
import { countFence } from '../mirror/fence.ts';
import { countListedAgain } from '../mirror/listed-again.ts';
import { readClockStanding, type ClockStanding } from '../job/clock-standing.ts';
import { presentHolder, runsUnderWay } from '../job/lease.ts';
import type { LeaseHolder } from '../mirror/lease-rows.ts';
import {
  lastExportOf,
  listRuns,
  newestSuccess,
  settleRun,
  type Living,
  type Run,
  type RunOutcome,
} from '../mirror/runs.ts';
import { newestPasses } from '../mirror/passes.ts';
import { isLogHeld, readLogBytes } from '../mirror/log-size.ts';
import { countQuarantine } from '../mirror/quarantine.ts';
import { countRows, type RowCounts } from '../mirror/read-rows.ts';
import { countSuspects, listHeldPlans, type HeldPlan } from '../mirror/suspects.ts';
import { publishedFilesIn } from '../snapshot/published-files.ts';
import { reportPass, type PassReport } from '../sync/pass-report.ts';
import type { ListedAgain } from './listed-again.ts';

/**
 * The current full snapshot, its deltas, and the newest time of all. `verdict`: of the full one's pass, or null. `unchangedAt`:
 * when an export last found that a new one would be no other; null where none has looked since the newest was published.
 */
export type SnapshotReport = {
  dataset: string;
  snapshotId: string;
  createdAt: string;
  deltas: number;
  updatedAt: string;
  unchangedAt: string | null;
  rows: number;
  files: number;
  bytes: number;
  verdict: string | null;
};

/** A recorded run of a job. */
export type RunReport = Omit<Run, 'counts' | 'outcome'> & { outcome: RunOutcome | 'running' };

/** Runs of a job that began within the same hour and ended alike. */
export type RunGroup = Omit<RunReport, 'id'> & { count: number };

/**
 * Groups runs that are given newest first, so that a day of runs is never more than a few hundred groups. The reason is that
 * of the newest; a run under way stays alone.
 */
export function groupRuns(runs: readonly RunReport[]): RunGroup[] {
  const groups = Map.groupBy(runs, ({ job, outcome, startedAt }) => `${job} ${outcome} ${startedAt.slice(0, 13)}`);
  return [...groups.values()].flatMap((group): RunGroup[] => {
    const [newest] = group;
    if (!newest) return [];
    const { id: _id, ...run } = newest;
    return [
      {
        ...run,
        startedAt: group.at(-1)?.startedAt ?? run.startedAt,
        requests: group.reduce((sum, { requests }) => sum + requests, 0),
        count: group.length,
      },
    ];
  });
}

/** The state of all erasure requests. */
export type ErasureReport = {
  states: Partial<Record<RequestState, number>>;
  /** Open erasure requests whose due date is past. */
  overdue: number;
  /** The first due date of an open request, and the time by which the service's last awaited batch should have run. */
  nextDueAt: string | null;
  eventsExpectedBy: string | null;
  /** The entries of the fence, and how many rows they have kept out. */
  fence: { entries: number; hits: number; recreated: number };
  listedAgain: ListedAgain;
};

/** What command and page both show of a mirror. Holds no personal data. */
export type MirrorReport = {
  rows: RowCounts;
  /** Rows that could not be read and were put aside, by dataset. */
  quarantine: Record<string, number>;
  passes: PassReport[];
  /** Deletion plans that wait for approval. */
  held: HeldPlan[];
  erasure: ErasureReport;
};

/** The state of a data folder. Holds no personal data. */
export type StatusReport = MirrorReport & {
  dataDir: string;
  /** Rows that a complete pass did not see. The service has still to be asked for each of them. */
  suspects: Record<PagedDataset, number>;
  snapshots: SnapshotReport[];
  /** The buckets that may hold published files, and whether each follows. */
  buckets: DestinationStanding[];
  runs: RunReport[];
  /** Null where no living process holds it. */
  lease: LeaseHolder | null;
  /** Bytes of the write-ahead log, and whether a reader keeps it from being written back. */
  log: { bytes: number; isHeld: boolean };
  clock: ClockStanding;
};

const runsShown = 5;

/** Reads the state of a data folder at a time (ISO 8601 UTC). Throws `storage` when a manifest is damaged. */
export function gatherStatus(db: Database, dataDir: string, now: string): StatusReport {
  const logBytes = readLogBytes(dataDir);
  const nowMs = Date.parse(now);
  const living = runsUnderWay(db, nowMs);
  return {
    dataDir,
    ...gatherMirror(db, now),
    suspects: countSuspects(db),
    snapshots: reportSnapshots(db, dataDir),
    buckets: readStandings(db),
    runs: listRuns(db, runsShown).map((run) => reportRun(run, living)),
    lease: presentHolder(db) ?? null,
    log: { bytes: logBytes, isHeld: isLogHeld(logBytes) },
    clock: readClockStanding(db, dataDir, Date.parse(now)),
  };
}

/** Reads the state of a mirror at a time (ISO 8601 UTC). */
export function gatherMirror(db: Database, now: string): MirrorReport {
  const living = runsUnderWay(db, Date.parse(now));
  return {
    rows: countRows(db),
    quarantine: countQuarantine(db),
    passes: newestPasses(db).map((pass) => settlePass(reportPass(pass), living)),
    held: listHeldPlans(db),
    erasure: gatherErasure(db, now),
  };
}

/** A pass without a verdict runs only while somebody who lives walks such a list; else it waits to be resumed. */
function settlePass(pass: PassReport, living: Living): PassReport {
  const { dataset, mode, verdict } = pass;
  const job = mode === 'head' ? 'head' : datasets[dataset].fullJob;
  const isWalked = living.some((run) => run.job === 'sync' || run.job === job);
  return verdict === 'running' && !isWalked ? { ...pass, verdict: 'unfinished' } : pass;
}

/** Reports a run of the mirror; one without an end has died unless somebody who lives works on it. */
export function reportRun(recorded: Run, living: Living): RunReport {
  const { counts: _counts, outcome, ...run } = settleRun(recorded, living);
  return { ...run, outcome: outcome ?? 'running' };
}

/** Reads the current snapshot of each dataset. Throws `storage` when a manifest is damaged. */
export function reportSnapshots(db: Database, dataDir: string): SnapshotReport[] {
  const published = publishedFilesIn(dataDir);
  return Object.entries(published.readCurrent().snapshots).map(([dataset, current]) => {
    const { snapshot_id: snapshotId, deltas = [] } = current;
    const newestId = deltas.at(-1)?.snapshot_id ?? snapshotId;
    const { created_at: updatedAt } = published.readManifest({ dataset, snapshotId: newestId });
    const { created_at: createdAt, rows, files, pass } = published.readManifest({ dataset, snapshotId });
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    const verdict = pass?.verdict ?? null;
    const exportedAt = lastExportOf(db, dataset) ?? '';
    const unchangedAt = exportedAt > updatedAt ? exportedAt : null;
    return {
      dataset,
      snapshotId,
      createdAt,
      deltas: deltas.length,
      updatedAt,
      unchangedAt,
      rows,
      files: files.length,
      bytes,
      verdict,
    };
  });
}

/** How many rows that were listed again the newest reconciliation has let in. */
function letInLast(db: Database): number {
  const { letIn = 0 } = z
    .looseObject({ letIn: z.int().optional() })
    .parse(JSON.parse(newestSuccess(db, 'reconcile')?.counts ?? '{}'));
  return letIn;
}

/** Reads the state of all erasure requests at a time (ISO 8601 UTC). */
function gatherErasure(db: Database, now: string): ErasureReport {
  const open = listRequests(db, 'open').filter(({ certifiedAt }) => certifiedAt === null);
  const times = (of: 'dueAt' | 'eventsExpectedBy'): string[] => open.flatMap((request) => request[of] ?? []).toSorted();
  return {
    states: countRequests(db),
    overdue: open.filter(({ dueAt }) => dueAt < now).length,
    nextDueAt: times('dueAt').at(0) ?? null,
    eventsExpectedBy: times('eventsExpectedBy').at(-1) ?? null,
    fence: countFence(db),
    listedAgain: { letIn: letInLast(db), out: countListedAgain(db) },
  };
}
