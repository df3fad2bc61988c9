import type { Database } from 'better-sqlite3';
import { z } from 'zod';
import { mirroredOrigin } from '../config/addresses.ts';
import type { Settings } from '../config/settings.ts';
import { publishedDatasets } from '../contract/datasets.ts';
import { newestTime } from '../core/clock.ts';
import { usageError } from '../core/errors.ts';
import type { LeaseHolder } from './lease-rows.ts';
import { columnsAs } from './tables.ts';
import { transact } from './transact.ts';

/** How a run can end. `done` and `held` have done all that can be done without a person. */
export const runOutcomes = ['done', 'incomplete', 'failed', 'interrupted', 'held'] as const;
export type RunOutcome = (typeof runOutcomes)[number];

const RunRow = z.object({
  id: z.int(),
  job: z.string(),
  startedAt: z.string(),
  finishedAt: z.string().nullable(),
  outcome: z.enum(runOutcomes).nullable(),
  reason: z.string().nullable(),
  requests: z.int(),
  counts: z.string().nullable(),
});

/** One execution of a job. `reason` is a code: an error's, or of what was found. */
export type Run = z.infer<typeof RunRow>;

const columns = columnsAs(Object.keys(RunRow.shape));

/** The runs of each job that are kept: two months of a job that starts every ten minutes. `run_totals` counts all. */
const runsKept = 10_000;
/** How many runs one run removes at most, so that none takes long. */
const runsRemovedMax = 1_000;

/**
 * Records that a run began. Runs that never ended are marked interrupted: their process is gone, unless they wait in the queue
 * of the lease. Runs of the job that are too many are removed, the newest success never.
 */
export function startRun(db: Database, job: string, at: string, kept = runsKept): number {
  const removeOld = /*sql*/ `DELETE FROM runs WHERE id IN (
      SELECT id FROM runs WHERE job = @job AND outcome IS NOT NULL
        AND id <= (SELECT id FROM runs WHERE job = @job ORDER BY id DESC LIMIT 1 OFFSET @kept - 1)
        AND id <> ifnull((SELECT id FROM runs WHERE job = @job AND outcome IN ('done', 'held') ORDER BY id DESC LIMIT 1), 0)
      ORDER BY id LIMIT @most)`;
  const endDead = /*sql*/ `UPDATE runs SET outcome = 'interrupted', reason = 'died', finished_at = ? WHERE finished_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM lease_queue WHERE has_begun = 1 AND job = runs.job AND taken_at <= runs.started_at)`;
  const insert = /*sql*/ `INSERT INTO runs (job, started_at) VALUES (?, ?)`;
  return transact(db, () => {
    db.prepare(removeOld).run({ job, kept, most: runsRemovedMax });
    db.prepare(endDead).run(at);
    return Number(db.prepare(insert).run(job, at).lastInsertRowid);
  });
}

/** Records how a run ended; `counts` has no personal data. */
export function finishRun(
  db: Database,
  run: { id: number; outcome: RunOutcome; reason: string | null; requests: number; counts: object; at: string },
): void {
  const sql = /*sql*/ `UPDATE runs SET outcome = @outcome, reason = @reason, requests = @requests, counts = @counts,
    finished_at = @at WHERE id = @id`;
  db.prepare(sql).run({ ...run, counts: JSON.stringify(run.counts) });
}

/** How many requests runs of `reconcile` have ended since a time (ISO 8601 UTC) because the mirror did not say whom they mean. */
export function countLost(db: Database, since: string): number {
  const sql = /*sql*/ `SELECT coalesce(sum(counts ->> 'lost'), 0) FROM runs WHERE job = 'reconcile' AND started_at >= ?`;
  return db.prepare<[string], number>(sql).pluck().get(since) ?? 0;
}

/** Whoever lives of those who have begun a run: the holder of the lease, and passes that have given way to it. */
export type Living = readonly Pick<LeaseHolder, 'job' | 'takenAt'>[];

/**
 * A run as a reader shows it. A run without an end is under way only while somebody who lives works on it; else it has died,
 * and the next run records that.
 */
export function settleRun(run: Run, living: Living): Run {
  const isUnderWay = living.some(({ job, takenAt }) => job === run.job && takenAt <= run.startedAt);
  if (run.outcome !== null || isUnderWay) return run;
  return { ...run, outcome: 'interrupted', reason: 'died', finishedAt: run.startedAt };
}

/** The runs that the rest of a SELECT names. */
function selectRuns(db: Database, rest: string, ...values: (string | number)[]): Run[] {
  const rows = db.prepare(/*sql*/ `SELECT ${columns} FROM runs ${rest}`).all(...values);
  return rows.map((row) => RunRow.parse(row));
}

/** Among so many runs, one has asked the service. */
const runsLookedAt = 100;

/** Whether a run has ended well since a time (ISO 8601 UTC) that has asked the service. */
export function hasAnsweredSince(db: Database, at: string): boolean {
  const sql = /*sql*/ `SELECT 1 FROM runs WHERE id > (SELECT max(id) FROM runs) - ${runsLookedAt}
    AND outcome = 'done' AND requests > 0 AND finished_at > ?`;
  return db.prepare(sql).get(at) !== undefined;
}

/** The newest time that a run has recorded, in ISO 8601 UTC; null before the first run. */
export function newestRunTime(db: Database): string | null {
  const sql = /*sql*/ `SELECT max(started_at) AS newest FROM runs`;
  return db.prepare<[], string | null>(sql).pluck().get() ?? null;
}

/** The newest runs, newest first. */
export function listRuns(db: Database, limit: number): Run[] {
  return selectRuns(db, /*sql*/ `ORDER BY id DESC LIMIT ?`, limit);
}

/** Runs that were under way at a time (ISO 8601 UTC) or began later, newest first, at most `limit`. */
export function listRunsSince(db: Database, since: string, limit: number): Run[] {
  const rest = /*sql*/ `WHERE finished_at IS NULL OR finished_at >= ? ORDER BY id DESC LIMIT ?`;
  return selectRuns(db, rest, since, limit);
}

/** Totals of all runs of a job so far. Times are ISO 8601 UTC. */
export type JobTotals = {
  job: string;
  /** Runs by outcome; `running` for the one that is under way. */
  outcomes: Partial<Record<RunOutcome | 'running', number>>;
  requests: number;
  lastEndAt: string | null;
  lastDoneAt: string | null;
};

/** The totals of every job, sorted by the job's name. A run that has died counts as interrupted; see `settleRun`. */
export function listJobTotals(db: Database, living: Living): JobTotals[] {
  const rows = db
    .prepare<
      [string],
      { job: string; outcome: RunOutcome | 'running'; runs: number; requests: number; lastEndAt: string | null }
    >(/*sql*/ `SELECT job, outcome, sum(runs) AS runs, sum(requests) AS requests, max(last_end_at) AS lastEndAt FROM (
        SELECT job, outcome, runs, requests, last_end_at FROM run_totals
        UNION ALL SELECT job, iif(EXISTS (SELECT 1 FROM json_each(?)
            WHERE value ->> 'job' = job AND started_at >= value ->> 'takenAt'), 'running', 'interrupted'), 1, requests, NULL
          FROM runs WHERE finished_at IS NULL
      ) GROUP BY job, outcome ORDER BY job`)
    .all(JSON.stringify(living));
  return [...Map.groupBy(rows, ({ job }) => job)].map(([job, group]) => ({
    job,
    outcomes: Object.fromEntries(group.map(({ outcome, runs }) => [outcome, runs])),
    requests: group.reduce((sum, { requests }) => sum + requests, 0),
    lastEndAt: newestTime(group.map(({ lastEndAt }) => lastEndAt)),
    lastDoneAt: group.find(({ outcome }) => outcome === 'done')?.lastEndAt ?? null,
  }));
}

/** The newest run of a job that left the data fresh. */
export function newestSuccess(db: Database, job: string): Run | undefined {
  return selectRuns(db, /*sql*/ `WHERE job = ? AND outcome IN ('done', 'held') ORDER BY id DESC LIMIT 1`, job)[0];
}

/** The newest run of a job that did all that it could, whatever it has found. */
export function newestSettled(db: Database, job: string): Run | undefined {
  const rest = /*sql*/ `WHERE job = ? AND outcome IN ('done', 'incomplete', 'held') ORDER BY id DESC LIMIT 1`;
  return selectRuns(db, rest, job)[0];
}

/** When the newest run began that published a dataset, or found it to be as published; null where there was none. */
export function lastExportOf(db: Database, dataset: string): string | null {
  const sql = /*sql*/ `SELECT started_at FROM runs WHERE job = ? AND outcome IN ('done', 'incomplete')
      AND json_extract(counts, '$.' || ?) IS NOT NULL ORDER BY id DESC LIMIT 1`;
  const newest = db.prepare<[string, string], string>(sql).pluck();
  return newestTime(['export', 'delta'].map((job) => newest.get(job, dataset)));
}

/** Whether a run of this mirror has published anything. */
export function hasPublished(db: Database): boolean {
  return publishedDatasets.some((dataset) => lastExportOf(db, dataset) !== null);
}

/** The newest runs of a job, newest first, as `settleRun` shows them. */
export function listRunsOfJob(db: Database, job: string, limit: number, living: Living): Run[] {
  const runs = selectRuns(db, /*sql*/ `WHERE job = ? ORDER BY id DESC LIMIT ?`, job, limit);
  return runs.map((run) => settleRun(run, living));
}

/** A project: where its service answers (scheme, host and port), and its id there. */
export type MirroredProject = { origin: string; projectId: string };

/**
 * Makes the mirror this project's, as long as it has never held a row; later only the same project is let in, at the
 * same origin or at one that its service has `movedFrom` there. Throws `usage` for another.
 */
export function claimMirror(db: Database, project: MirroredProject, movedFrom: string | null): void {
  transact(db, () => {
    if (refuseOtherProject(db, project, movedFrom)) return;
    db.prepare(/*sql*/ `INSERT OR REPLACE INTO mirrored_project (only_row, origin, project_id)
      VALUES (1, @origin, @projectId)`).run(project);
  });
}

/** As `claimMirror` does, throws `usage` where the settings name another project. Returns whether the mirror has one, and they name one. */
export function refuseOthersMirror(
  db: Database,
  { service: { baseUrl, projectId, movedFrom } }: Pick<Settings, 'service'>,
): boolean {
  if (baseUrl === null || projectId === null) return false;
  return refuseOtherProject(db, { origin: mirroredOrigin(baseUrl), projectId }, movedFrom);
}

/** Throws `usage` for another project than the mirror's: its lists would make every row of the mirror absent. Returns whether it has one. */
function refuseOtherProject(db: Database, project: MirroredProject, movedFrom: string | null): boolean {
  const sql = /*sql*/ `SELECT origin, project_id AS projectId FROM mirrored_project WHERE EXISTS (SELECT 1 FROM changes)`;
  const owner = db.prepare<[], MirroredProject>(sql).get();
  const former = movedFrom === null ? null : mirroredOrigin(movedFrom);
  if (owner && (owner.projectId !== project.projectId || ![project.origin, former].includes(owner.origin)))
    throw usageError(
      `the data folder mirrors project ${owner.projectId} of ${owner.origin}, not project ${project.projectId} of ${project.origin}`,
      'give each project a dataDir (MIRROR_DATA_DIR) of its own; where the service has moved, set service.movedFrom to its old address',
    );
  return owner !== undefined;
}
