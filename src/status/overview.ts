import type { ProjectState } from '../job/worker-state.ts';
import type { MirroredDataset } from '../contract/datasets.ts';
import type { LedgerHead } from '../ledger/ledger-head.ts';
import type { RequestState } from '../ledger/vocabulary.ts';
import type { RowCounts } from '../mirror/read-rows.ts';
import type { JobTotals } from '../mirror/runs.ts';
import type { HeldPlan } from '../mirror/suspects.ts';
import type { PassReport } from '../sync/pass-report.ts';
import type { ErasureReport, RunReport, SnapshotReport } from './report.ts';

/** How fresh a list of the service is here. Times are ISO 8601 UTC. */
export type ListFreshness = {
  dataset: MirroredDataset;
  rows: number;
  /** When the last pass began that is proved to have seen everything: what the mirror is as fresh as. */
  completeAsOf: string | null;
  /** When the newest pass of any kind ended, a look at what is new included. */
  lookedAt: string | null;
  /** Older than so many milliseconds is stale; null when nothing is scheduled. */
  limitMs: number | null;
  state: 'fresh' | 'stale' | 'never';
};

/** What the service may be asked at most, and how much of it is used now. */
export type BudgetWindow = {
  lane: 'general' | 'recordings list';
  requests: number;
  perSeconds: number;
  used: number;
};

/** A request that is open, without who it is about. */
export type OpenRequest = {
  id: string;
  state: RequestState;
  /** Codes of what it is held or looked at for. */
  reasons: string[];
  receivedAt: string;
  dueAt: string;
  eventsExpectedBy: string | null;
};

/** What is to be read in a project's data folder. */
export type ProjectContent = {
  lists: ListFreshness[];
  histories: JobTotals[];
  rows: RowCounts;
  /** Rows that could not be read, and were put aside. */
  quarantined: number;
  passes: PassReport[];
  /** Deletions that wait for a person. */
  heldPlans: HeldPlan[];
  /** Requests that ended in each of the last 60 minutes, the oldest first. */
  minutes: { general: number[]; recordings: number[] };
  windows: BudgetWindow[];
  /** The last 24 hours, newest first. */
  runs: RunReport[];
  erasure: ErasureReport;
  /** The most urgent first; `erasure.states` counts those that are not listed. */
  openRequests: OpenRequest[];
  /** Null when what is published cannot be read. */
  snapshots: SnapshotReport[] | null;
  /** When the job `checkpoint` last read all published files back and found each as its manifest says. */
  snapshotsCheckedAt: string | null;
  /** Null before the first entry. */
  ledger: LedgerHead | 'unreadable' | null;
};

/** One project of the worker. `content` is null as long as there is nothing to read it from. */
export type ProjectOverview = Omit<ProjectState, 'dataDir'> & {
  content: ProjectContent | null;
};

/** Where everything stands at a moment: what page, metrics and readiness are made of. Holds no personal data. */
export type Overview = {
  /** ISO 8601 UTC, as all times here. */
  at: string;
  version: string;
  startedAt: string;
  projects: ProjectOverview[];
};
