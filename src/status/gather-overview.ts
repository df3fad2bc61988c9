import { existsSync } from 'node:fs';
import { budgetStanding, type BudgetStanding } from '../client/budget-standing.ts';
import { readPace } from '../client/pace.ts';
import type { Settings } from '../config/settings.ts';
import { isoTime } from '../core/clock.ts';
import { AppError, systemCode } from '../core/errors.ts';
import { datasets, mirroredDatasets } from '../contract/datasets.ts';
import { isHere, type JobState, type ProjectState, type WorkerState } from '../job/worker-state.ts';
import { readLedgerHead } from '../ledger/ledger-head.ts';
import { ledgerFolder } from '../ledger/entry-file.ts';
import { databasePath, type Database } from '../mirror/database.ts';
import { readStandings } from '../mirror/destinations.ts';
import { listRequests } from '../mirror/erasure-requests.ts';
import type { RequestReason, WaitReason } from '../ledger/vocabulary.ts';
import { listOpenTargets } from '../mirror/erasure-targets.ts';
import { runsUnderWay } from '../job/lease.ts';
import { readHistory } from '../mirror/history.ts';
import { lastCompletePasses } from '../mirror/passes.ts';
import { countRequestsWithin, readPaceText, requestsByMinute } from '../mirror/request-times.ts';
import { listJobTotals, listRunsSince } from '../mirror/runs.ts';
import { listHeldKeys } from '../mirror/suspects.ts';
import type {
  BudgetWindow,
  ListFreshness,
  OpenRequest,
  Overview,
  ProjectContent,
  ProjectOverview,
} from './overview.ts';
import { gatherMirror, groupRuns, reportRun, reportSnapshots } from './report.ts';

/** The source of a project's content. The connection is for reading and stays open. */
type ProjectSource = { db: () => Database; settings: Pick<Settings, 'dataDir' | 'budget'> };

/** The sources of an overview. `sourceOf` returns undefined for a project that has no data folder yet. */
export type OverviewParts = {
  version: string;
  worker: () => Pick<WorkerState, 'startedAt' | 'projects'>;
  sourceOf: (project: string) => ProjectSource | undefined;
  nowMs: () => number;
  /** Whether the first rows of held plans are named. */
  namesHeld: boolean;
  /** Is waited for after each project, so that other work goes on meanwhile. */
  pause: () => Promise<unknown>;
};

const dayMs = 86_400_000;
/** The most that are shown, and the most that are looked at. */
const runsShown = 12;
const runsMax = 5000;
const groupsMax = 240;
const requestsMax = 12;
const heldShown = 20;

/** A list is stale when its last complete pass is older than two periods of the job that walks it. */
const freshPeriods = 2;

/** Gathers the present state of all projects. A project that cannot be read has no content, and its `problem` says why. */
export async function gatherOverview({
  version,
  worker,
  sourceOf,
  nowMs,
  namesHeld,
  pause,
}: OverviewParts): Promise<Overview> {
  const atMs = nowMs();
  const { startedAt, projects } = worker();
  const gathered: ProjectOverview[] = [];
  for (const project of projects) {
    const source = project.problem === null && isHere(project) ? sourceOf(project.name) : undefined;
    gathered.push(gatherProject(project, source && { ...source, namesHeld }, atMs));
    await pause();
  }
  return { at: isoTime(atMs), version, startedAt, projects: gathered };
}

function gatherProject(
  project: ProjectState,
  source: (ProjectSource & Pick<OverviewParts, 'namesHeld'>) | undefined,
  atMs: number,
): ProjectOverview {
  if (!source || !existsSync(databasePath(source.settings.dataDir))) return { ...project, content: null };
  try {
    return { ...project, content: gatherContent(source, project.jobs, atMs) };
  } catch (error) {
    return { ...project, content: null, problem: codeOf(error) };
  }
}

function gatherContent(
  { db: openDb, settings: { dataDir, budget }, namesHeld }: ProjectSource & Pick<OverviewParts, 'namesHeld'>,
  jobs: readonly JobState[],
  atMs: number,
): ProjectContent {
  const db = openDb();
  const { rows, quarantine, passes, held, erasure } = gatherMirror(db, isoTime(atMs));
  const living = runsUnderWay(db, atMs);
  const standing = budgetStanding(budget, readPace(readPaceText(db)), atMs);
  const histories = listJobTotals(db, living);
  const runs = listRunsSince(db, isoTime(atMs - dayMs), runsMax).map((run) => reportRun(run, living));
  return {
    lists: gatherLists(db, { jobs, rows, passes, atMs }),
    histories,
    rows,
    quarantined: Object.values(quarantine).reduce((sum, count) => sum + count, 0),
    passes,
    heldPlans: held.map((plan) => Object.assign(plan, { keys: namesHeld ? listHeldKeys(db, plan, heldShown) : [] })),
    minutes: {
      general: requestsByMinute(db, 'general', atMs),
      recordings: requestsByMinute(db, 'recordings list', atMs),
    },
    history: readHistory(db, atMs),
    windows: gatherWindows(db, budget, standing, atMs),
    budget: standing,
    runs: runs.slice(0, runsShown),
    runGroups: groupRuns(runs).slice(0, groupsMax),
    erasure,
    openRequests: gatherOpenRequests(db),
    snapshots: readOr(null, () => reportSnapshots(db, dataDir)),
    buckets: readStandings(db),
    snapshotsCheckedAt: histories.find(({ job }) => job === 'checkpoint')?.lastDoneAt ?? null,
    ledger: readOr('unreadable', () => readLedgerHead(ledgerFolder(dataDir)) ?? null),
  };
}

function gatherLists(
  db: Database,
  { jobs, rows, passes, atMs }: Pick<ProjectContent, 'rows' | 'passes'> & { jobs: readonly JobState[]; atMs: number },
): ListFreshness[] {
  const complete = new Map(lastCompletePasses(db).map((pass) => [pass.dataset, pass.startedAt]));
  return mirroredDatasets.flatMap((dataset) => {
    const own = passes.filter((pass) => pass.dataset === dataset);
    const job = jobs.find((one) => one.job === datasets[dataset].fullJob);
    const completeAsOf = complete.get(dataset) ?? null;
    // No job walks the whole list, so it can never become fresh.
    if (completeAsOf === null && (!job || (own.length === 0 && datasets[dataset].list === null))) return [];
    const limitMs = job ? job.periodMs * freshPeriods : null;
    const lookedAt =
      own
        .flatMap(({ finishedAt }) => finishedAt ?? [])
        .toSorted()
        .at(-1) ?? null;
    const isStale = completeAsOf !== null && limitMs !== null && atMs - Date.parse(completeAsOf) > limitMs;
    const state = completeAsOf === null ? 'never' : isStale ? 'stale' : 'fresh';
    return [{ dataset, rows: rows[dataset], completeAsOf, lookedAt, limitMs, state }];
  });
}

/** The windows as they hold now: one as it was learnt, the others as configured. */
function gatherWindows(
  db: Database,
  budget: Settings['budget'],
  { learnt }: BudgetStanding,
  atMs: number,
): BudgetWindow[] {
  const gather = (lane: BudgetWindow['lane'], windows: Settings['budget']['windows']): BudgetWindow[] =>
    windows.map(({ requests: configured, perSeconds }) => {
      const counted = lane === 'general' ? undefined : lane;
      const isLearnt = lane === 'general' && learnt?.perSeconds === perSeconds;
      const requests = isLearnt ? learnt.requests : configured;
      return { lane, requests, perSeconds, used: countRequestsWithin(db, counted, perSeconds, atMs) };
    });
  return [...gather('general', budget.windows), ...gather('recordings list', budget.recordings.windows)];
}

function gatherOpenRequests(db: Database): OpenRequest[] {
  const open = listRequests(db, 'open').filter(({ state }) => state !== 'certified');
  const targets = Map.groupBy(listOpenTargets(db), ({ requestId }) => requestId);
  const urgency = (state: string): number => (state === 'attention' ? 0 : state === 'held' ? 1 : 2);
  return open
    .toSorted((a, b) => urgency(a.state) - urgency(b.state) || (a.dueAt < b.dueAt ? -1 : 1))
    .slice(0, requestsMax)
    .map(({ id, state, reason, waitsFor, receivedAt, dueAt, eventsExpectedBy }) => ({
      id,
      state,
      reasons: [
        ...new Set([reason, waitsFor, ...(targets.get(id) ?? []).map((target) => target.reason)].filter(isCode)),
      ],
      receivedAt,
      dueAt,
      eventsExpectedBy,
    }));
}

/** Whether a text is a code of this program. Any other text may be an operator's words, and is not shown. */
function isCode(text: RequestReason | WaitReason | null): text is RequestReason | WaitReason {
  return text !== null && /^[a-z][a-z_]{0,39}$/.test(text);
}

/** The value that is read, or another one where the files cannot be read. */
function readOr<T, U>(otherwise: U, read: () => T): T | U {
  try {
    return read();
  } catch (error) {
    codeOf(error);
    return otherwise;
  }
}

/** The code of an error of this program, of the system or of SQLite. Throws any other error: it is a bug. */
function codeOf(error: unknown): string {
  const code = error instanceof AppError ? error.code : systemCode(error);
  if (code === undefined) throw error;
  return code;
}
