import { existsSync } from 'node:fs';
import { budgetStanding, type BudgetStanding } from '../client/budget-standing.ts';
import { readPace } from '../client/pace.ts';
import type { Settings } from '../config/settings.ts';
import { isOutdated, isoTime, newestTime } from '../core/clock.ts';
import { AppError, systemCode } from '../core/errors.ts';
import { datasets, mirroredDatasets } from '../contract/datasets.ts';
import { presentHolder, runsUnderWay } from '../job/lease.ts';
import type { JobState, ProjectState, WorkerState } from '../job/worker-state.ts';
import { certificatePath } from '../erasure/proof/certificate-file.ts';
import { readLedgerHead } from '../ledger/ledger-head.ts';
import { ledgerFolder } from '../ledger/entry-file.ts';
import type { Database } from '../mirror/database.ts';
import { readStandings } from '../mirror/destinations.ts';
import { newestCertified } from '../mirror/erasure-requests.ts';
import { readHistory } from '../mirror/history.ts';
import { lastCompletePasses, lastJudgedPass, newestPasses } from '../mirror/passes.ts';
import { countQuarantine } from '../mirror/quarantine.ts';
import { countRows } from '../mirror/read-rows.ts';
import { countRequestsWithin, readPaceText } from '../mirror/request-times.ts';
import {
  hasPublished,
  lastExportOf,
  listJobTotals,
  listRuns,
  listRunsSince,
  settleRun,
  type Living,
  type Run,
} from '../mirror/runs.ts';
import { countSuspects, listHeldPlans, listHeldRows } from '../mirror/suspects.ts';
import { publishedFilesIn } from '../snapshot/published-files.ts';
import { reportPass, type PassReport } from '../sync/pass-report.ts';
import { gatherRequests } from './gather-requests.ts';
import type {
  BudgetWindow,
  ListFreshness,
  Overview,
  ProjectContent,
  ProjectOverview,
  RunGroup,
  RunReport,
  SnapshotReport,
} from './overview.ts';

/** The source of a project's content. The connection is for reading and stays open. */
type ProjectSource = { db: () => Database; settings: Pick<Settings, 'dataDir' | 'budget'> };

/** The sources of an overview. `sourceOf` returns undefined for a project that has no mirror here that could be read. */
export type OverviewParts = {
  version: string;
  worker: () => WorkerState;
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
const heldShown = 20;
const certifiedShown = 6;

/** A list is stale when its last complete pass is further from now than two periods of the job that walks it. */
const freshPeriods = 2;

/** Gathers the present state of all projects. A project that cannot be read has no content, and its `problem` says why. */
export async function gatherOverview(parts: OverviewParts): Promise<Overview> {
  const { version, worker, sourceOf, nowMs, namesHeld, pause } = parts;
  const atMs = nowMs();
  const { startedAt, projects } = worker();
  const gathered: ProjectOverview[] = [];
  for (const project of projects) {
    gathered.push(gatherProject(project, sourceOf(project.name), { atMs, namesHeld }));
    await pause();
  }
  return { at: isoTime(atMs), version, startedAt, projects: gathered };
}

function gatherProject(
  project: ProjectState,
  source: ProjectSource | undefined,
  when: { atMs: number; namesHeld: boolean },
): ProjectOverview {
  if (!source) return { ...project, content: null };
  try {
    return { ...project, content: gatherContent(source.db(), source.settings, { jobs: project.jobs, ...when }) };
  } catch (error) {
    return { ...project, content: null, problem: codeOf(error) };
  }
}

/**
 * Reads the content of a data folder at a time (milliseconds since 1970). `jobs`: the scheduled ones, by which lists become
 * stale. Throws SQLite's error when the mirror cannot be read.
 */
export function gatherContent(
  db: Database,
  { dataDir, budget }: Pick<Settings, 'dataDir' | 'budget'>,
  { jobs, atMs, namesHeld }: { jobs: readonly JobState[]; atMs: number; namesHeld: boolean },
): ProjectContent {
  const now = isoTime(atMs);
  const rows = countRows(db);
  const living = runsUnderWay(db, atMs);
  const passes = newestPasses(db).map((pass) => settlePass(reportPass(pass), living));
  const standing = budgetStanding(budget, readPace(readPaceText(db)), atMs);
  const histories = listJobTotals(db, living);
  const runs = listRunsSince(db, isoTime(atMs - dayMs), runsMax).map((run) => reportRun(run, living));
  return {
    lists: gatherLists(db, { jobs, rows, passes, atMs }),
    histories,
    rows,
    quarantine: countQuarantine(db),
    suspects: countSuspects(db),
    passes,
    held: listHeldPlans(db).map((plan) =>
      Object.assign(plan, { keys: namesHeld ? listHeldRows(db, plan, heldShown).map(({ key }) => key) : [] }),
    ),
    history: readHistory(db, atMs),
    windows: gatherWindows(db, budget, standing, atMs),
    budget: standing,
    lease: presentHolder(db) ?? null,
    runs: listRuns(db, runsShown).map((run) => reportRun(run, living)),
    runGroups: groupRuns(runs).slice(0, groupsMax),
    ...gatherRequests(db, now),
    certified: newestCertified(db, certifiedShown).filter(({ id, generation }) =>
      existsSync(certificatePath(dataDir, id, generation)),
    ),
    snapshots: readOr(null, () => gatherSnapshots(db, dataDir)),
    buckets: readStandings(db),
    snapshotsCheckedAt: histories.find(({ job }) => job === 'checkpoint')?.lastDoneAt ?? null,
    ledger: readOr('unreadable', () => readLedgerHead(ledgerFolder(dataDir)) ?? null),
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
function reportRun(recorded: Run, living: Living): RunReport {
  const { counts: _counts, outcome, ...run } = settleRun(recorded, living);
  return { ...run, outcome: outcome ?? 'running' };
}

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

/** Reads the current snapshot of each dataset. Throws `storage` when a manifest is damaged, or what was published is named no more. */
function gatherSnapshots(db: Database, dataDir: string): SnapshotReport[] {
  const published = publishedFilesIn(dataDir);
  if (!published.hasCurrent() && hasPublished(db)) throw new AppError('CURRENT.json is missing', { code: 'storage' });
  return Object.entries(published.readCurrent().snapshots).map(([dataset, current]) => {
    const { snapshot_id: snapshotId, deltas = [] } = current;
    const newestId = deltas.at(-1)?.snapshot_id ?? snapshotId;
    const { created_at: updatedAt } = published.readManifest({ dataset, snapshotId: newestId });
    const { created_at: createdAt, rows, files, pass } = published.readManifest({ dataset, snapshotId });
    const exportedAt = lastExportOf(db, dataset) ?? '';
    return {
      dataset,
      snapshotId,
      createdAt,
      deltas: deltas.length,
      updatedAt,
      unchangedAt: exportedAt > updatedAt ? exportedAt : null,
      rows,
      files: files.length,
      bytes: files.reduce((sum, file) => sum + file.bytes, 0),
      verdict: pass?.verdict ?? null,
    };
  });
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
    const judged = lastJudgedPass(db, dataset);
    const lookedAt = newestTime([judged, ...own].map((pass) => pass?.finishedAt));
    const isStale =
      completeAsOf !== null && limitMs !== null && isOutdated(Date.parse(completeAsOf), { nowMs: atMs, limitMs });
    const unseen = judged === undefined ? 'never' : 'incomplete';
    const state = completeAsOf === null ? unseen : isStale ? 'stale' : 'fresh';
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
      const isLearnt = lane === 'general' && learnt?.perSeconds === perSeconds;
      const requests = isLearnt ? learnt.requests : configured;
      return { lane, requests, perSeconds, used: countRequestsWithin(db, lane, perSeconds, atMs) };
    });
  return [...gather('general', budget.windows), ...gather('recordings list', budget.recordings.windows)];
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
