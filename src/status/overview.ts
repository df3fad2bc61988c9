import type { BudgetStanding } from '../client/budget-standing.ts';
import type { ProjectState } from '../job/worker-state.ts';
import type { MirroredDataset, PagedDataset } from '../contract/datasets.ts';
import type { LedgerHead } from '../ledger/ledger-head.ts';
import type { RequestState } from '../ledger/vocabulary.ts';
import type { DestinationStanding } from '../mirror/destinations.ts';
import type { CertifiedRequest, ErasureRequest } from '../mirror/erasure-requests.ts';
import type { History } from '../mirror/history.ts';
import type { LeaseHolder } from '../mirror/lease-rows.ts';
import type { RowCounts } from '../mirror/read-rows.ts';
import type { JobTotals, Run, RunOutcome } from '../mirror/runs.ts';
import type { HeldPlan } from '../mirror/suspects.ts';
import type { PassReport } from '../sync/pass-report.ts';
import type { ListedAgain } from './listed-again.ts';

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
  /** Of a list without a complete pass: `incomplete` if a pass of the whole list has ended, `never` if none has. */
  state: 'fresh' | 'stale' | 'incomplete' | 'never';
};

/** A limit on requests to the service, and how much of it is used now. */
export type BudgetWindow = { lane: 'general' | 'recordings list'; requests: number; perSeconds: number; used: number };

/** An open erasure request, without its subject. */
export type OpenRequest = Pick<
  ErasureRequest,
  'id' | 'state' | 'waitsFor' | 'receivedAt' | 'dueAt' | 'eventsExpectedBy'
> & {
  /** How many persons it would erase or erases; null before they were looked for. */
  persons: number | null;
  /** The codes for which it is held or needs attention. */
  reasons: string[];
};

/** The state of all erasure requests. */
export type ErasureReport = {
  states: Partial<Record<RequestState, number>>;
  /** Requests that are neither complete nor refused nor cancelled. */
  open: number;
  /** Open erasure requests that are overdue. */
  overdue: number;
  /** The first due date of an open request, and the time by which the service's last awaited batch should have run. */
  nextDueAt: string | null;
  eventsExpectedBy: string | null;
  /** The entries of the fence, and how many rows they have kept out. */
  fence: { entries: number; hits: number; recreated: number };
  /** Open requests for access, those that are overdue, and the first due date. */
  access: { open: number; overdue: number; nextDueAt: string | null };
  listedAgain: ListedAgain;
};

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

/** The content of a project's data folder, for command, page and metrics. */
export type ProjectContent = {
  lists: ListFreshness[];
  histories: JobTotals[];
  rows: RowCounts;
  /** Rows that could not be read and were put aside, by dataset. */
  quarantine: Record<string, number>;
  /** Rows that a complete pass did not see. The service has still to be asked for each of them. */
  suspects: Record<PagedDataset, number>;
  passes: PassReport[];
  /** Deletion plans that wait for approval; `keys` names the first rows of each, only where the page asks for a token. */
  held: (HeldPlan & { keys: string[] })[];
  windows: BudgetWindow[];
  /** What answers 429 have taught about the budget. */
  budget: BudgetStanding;
  history: History;
  /** Who works on the data folder; null where no living process does. */
  lease: LeaseHolder | null;
  /** The newest runs, newest first. */
  runs: RunReport[];
  /** The runs of the last 24 hours, newest first. */
  runGroups: RunGroup[];
  erasure: ErasureReport;
  /** The most urgent first; `erasure.states` counts those that are not listed. */
  openRequests: OpenRequest[];
  /** The newest requests that have ended with a certificate, whose file is here. */
  certified: CertifiedRequest[];
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
 * The state of all projects at a moment. Page, metrics, readiness and `status` are made from it. Holds no personal data; where the page
 * asks for a token, it names the first rows of held plans by their uuids or ids.
 */
export type Overview = {
  /** ISO 8601 UTC, as all times here. */
  at: string;
  version: string;
  startedAt: string;
  projects: ProjectOverview[];
};
