import type { AlertKind } from '../config/alert-kinds.ts';
import type { LedgerHead } from '../ledger/ledger-head.ts';
import type { RequestState } from '../ledger/vocabulary.ts';
import type { PassDataset } from '../mirror/passes.ts';
import type { RowCounts } from '../mirror/row-counts.ts';
import type { JobHistory } from '../mirror/runs.ts';
import type { HeldPlan } from '../mirror/suspects.ts';
import type { PassReport } from '../sync/pass-report.ts';
import type { ErasureReport, SnapshotReport } from './report.ts';

/** Something that calls for somebody: what is so, and what to do about it. `job` where it is about one. */
export type OverviewAlert = { kind: AlertKind; job: string | null; message: string; todo: string };

/** A scheduled job. Times are ISO 8601 UTC. */
export type OverviewJob = {
  job: string;
  /** In UTC. */
  cron: string;
  periodMs: number;
  nextAt: string;
  lastAt: string | null;
  /** `running` while it runs. */
  lastOutcome: string | null;
  lastReason: string | null;
  lastSuccessAt: string | null;
  runningSince: string | null;
  consecutiveFailures: number;
  timesBusy: number;
};

/** What the status server has to be told of a worker: the rest it reads in the data folders. */
export type WorkerView = {
  startedAt: string;
  projects: readonly {
    name: string;
    dataDir: string;
    /** An error's code, where the data folder cannot be used. */
    problem: string | null;
    jobs: readonly OverviewJob[];
    condition: { diskFreeBytes: number; diskFreeBytesMin: number; isLedgerWritable: boolean } | null;
    alerts: readonly OverviewAlert[];
  }[];
};

/** How fresh a list of the service is here. Times are ISO 8601 UTC. */
export type ListFreshness = {
  dataset: PassDataset;
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

/** A run as the timeline shows it. */
export type OverviewRun = {
  id: number;
  job: string;
  startedAt: string;
  finishedAt: string | null;
  outcome: 'running' | 'done' | 'incomplete' | 'failed' | 'interrupted' | 'held';
  reason: string | null;
  requests: number;
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
  histories: JobHistory[];
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
  runs: OverviewRun[];
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
export type ProjectOverview = Omit<WorkerView['projects'][number], 'dataDir'> & {
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
