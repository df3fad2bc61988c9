import type { BudgetStanding } from '../client/budget-standing.ts';
import type { ProjectState } from '../job/worker-state.ts';
import type { MirroredDataset } from '../contract/datasets.ts';
import type { LedgerHead } from '../ledger/ledger-head.ts';
import type { RequestState } from '../ledger/vocabulary.ts';
import type { DestinationStanding } from '../mirror/destinations.ts';
import type { History } from '../mirror/history.ts';
import type { RowCounts } from '../mirror/read-rows.ts';
import type { JobTotals } from '../mirror/runs.ts';
import type { HeldPlan } from '../mirror/suspects.ts';
import type { PassReport } from '../sync/pass-report.ts';
import type { ErasureReport, RunGroup, RunReport, SnapshotReport } from './report.ts';

/** How fresh a list of the service is here. Times are ISO 8601 UTC. */
export type ListFreshness = {
  dataset: MirroredDataset;
  rows: number;
  /** When the last complete pass began. The mirror is as fresh as that. */
  completeAsOf: string | null;
  /** When the newest pass of any mode ended. */
  lookedAt: string | null;
  /** The age in milliseconds at which the list is stale; null when no job is scheduled for it. */
  limitMs: number | null;
  state: 'fresh' | 'stale' | 'never';
};

/** A limit on requests to the service, and how much of it is used now. */
export type BudgetWindow = { lane: 'general' | 'recordings list'; requests: number; perSeconds: number; used: number };

/** An open erasure request, without its subject. */
export type OpenRequest = {
  id: string;
  state: RequestState;
  /** The codes for which it is held or needs attention. */
  reasons: string[];
  receivedAt: string;
  dueAt: string;
  eventsExpectedBy: string | null;
};

/** The content of a project's data folder. */
export type ProjectContent = {
  lists: ListFreshness[];
  histories: JobTotals[];
  rows: RowCounts;
  /** Rows that could not be read and were put aside. */
  quarantined: number;
  passes: PassReport[];
  /** Deletion plans that wait for approval; `keys` names the first rows of each, only where the page asks for a token. */
  heldPlans: (HeldPlan & { keys: string[] })[];
  /** Requests that ended in each of the last 60 minutes, the oldest first. */
  minutes: { general: number[]; recordings: number[] };
  windows: BudgetWindow[];
  /** What answers 429 have taught about the budget. */
  budget: BudgetStanding;
  history: History;
  /** The newest runs, newest first. */
  runs: RunReport[];
  /** The runs of the last 24 hours, newest first. */
  runGroups: RunGroup[];
  erasure: ErasureReport;
  /** The most urgent first; `erasure.states` counts those that are not listed. */
  openRequests: OpenRequest[];
  /** Null when what is published cannot be read. */
  snapshots: SnapshotReport[] | null;
  /** The buckets that may hold published files, and whether each follows. */
  buckets: DestinationStanding[];
  /** When the job `checkpoint` last read all published files and found that each matches its manifest. */
  snapshotsCheckedAt: string | null;
  /** Null before the first entry. */
  ledger: LedgerHead | 'unreadable' | null;
};

/** One project of the worker. `content` is null until there is a mirror to read. */
export type ProjectOverview = ProjectState & { content: ProjectContent | null };

/**
 * The state of all projects at a moment. Page, metrics and readiness are made from it. Holds no personal data; where the page
 * asks for a token, it names the first rows of held plans by their uuids or ids.
 */
export type Overview = {
  /** ISO 8601 UTC, as all times here. */
  at: string;
  version: string;
  startedAt: string;
  projects: ProjectOverview[];
};
