import type { Database } from 'better-sqlite3';
import { z } from 'zod';
import { refuseStaleHolder } from './lease.ts';

/** How a run ended. `done` and `held` have done all that can be done without a person. */
const runOutcomes = ['done', 'incomplete', 'failed', 'interrupted', 'held'] as const;
export type RunOutcome = (typeof runOutcomes)[number];

const RunRow = z.object({
  id: z.int(),
  job: z.string(),
  started_at: z.string(),
  finished_at: z.string().nullable(),
  outcome: z.enum(runOutcomes).nullable(),
  reason: z.string().nullable(),
  requests: z.int(),
  counts: z.string().nullable(),
});

/** One execution of a job, in the names of its columns. `reason` is a code: an error's, or of what was found. */
export type Run = z.infer<typeof RunRow>;

const columns = Object.keys(RunRow.shape).join(', ');

/** Records that a run began. Runs that never ended are marked interrupted: their process is gone. */
export function startRun(db: Database, job: string, at: string): number {
  return db
    .transaction(() => {
      refuseStaleHolder(db);
      db.prepare(
        /*sql*/ `UPDATE runs SET outcome = 'interrupted', reason = 'died', finished_at = ? WHERE outcome IS NULL`,
      ).run(at);
      return Number(
        db.prepare(/*sql*/ `INSERT INTO runs (job, started_at) VALUES (?, ?)`).run(job, at).lastInsertRowid,
      );
    })
    .immediate();
}

/**
 * Records how a run ended. `counts` holds numbers only, never personal data. Throws `busy` when somebody has taken the
 * data folder over meanwhile, who has recorded this run as dead.
 */
export function finishRun(
  db: Database,
  run: { id: number; outcome: RunOutcome; reason: string | null; requests: number; counts: object; at: string },
): void {
  db.transaction(() => {
    refuseStaleHolder(db);
    db.prepare(/*sql*/ `UPDATE runs SET outcome = @outcome, reason = @reason, requests = @requests, counts = @counts, finished_at = @at
      WHERE id = @id`).run({ ...run, counts: JSON.stringify(run.counts) });
  }).immediate();
}

/** The newest runs, newest first. */
export function listRuns(db: Database, limit: number): Run[] {
  return db
    .prepare(/*sql*/ `SELECT ${columns} FROM runs ORDER BY id DESC LIMIT ?`)
    .all(limit)
    .map((row) => RunRow.parse(row));
}

/** Runs that were under way at a time (ISO 8601 UTC) or began later, newest first, at most `limit`. */
export function listRunsSince(db: Database, since: string, limit: number): Run[] {
  return db
    .prepare(
      /*sql*/ `SELECT ${columns} FROM runs WHERE finished_at IS NULL OR finished_at >= ? ORDER BY id DESC LIMIT ?`,
    )
    .all(since, limit)
    .map((row) => RunRow.parse(row));
}

/** Totals of all runs of a job so far. Times are ISO 8601 UTC. */
export type JobTotals = {
  job: string;
  /** Runs by outcome; `running` for those that have not ended. */
  outcomes: Partial<Record<RunOutcome | 'running', number>>;
  requests: number;
  lastEndAt: string | null;
  lastDoneAt: string | null;
};

/** The totals of every job, sorted by the job's name. */
export function listJobTotals(db: Database): JobTotals[] {
  const rows = db
    .prepare<
      [],
      { job: string; outcome: RunOutcome | 'running'; runs: number; requests: number; lastEndAt: string | null }
    >(/*sql*/ `SELECT job, coalesce(outcome, 'running') AS outcome, count(*) AS runs, sum(requests) AS requests,
        max(finished_at) AS lastEndAt FROM runs GROUP BY job, outcome ORDER BY job`)
    .all();
  return [...Map.groupBy(rows, ({ job }) => job)].map(([job, group]) => ({
    job,
    outcomes: Object.fromEntries(group.map(({ outcome, runs }) => [outcome, runs])),
    requests: group.reduce((sum, { requests }) => sum + requests, 0),
    lastEndAt:
      group
        .flatMap(({ lastEndAt }) => lastEndAt ?? [])
        .toSorted()
        .at(-1) ?? null,
    lastDoneAt: group.find(({ outcome }) => outcome === 'done')?.lastEndAt ?? null,
  }));
}

/** The newest run of a job that left the data fresh. */
export function newestSuccess(db: Database, job: string): Run | undefined {
  const row = db
    .prepare(
      /*sql*/ `SELECT ${columns} FROM runs WHERE job = ? AND outcome IN ('done', 'held') ORDER BY id DESC LIMIT 1`,
    )
    .get(job);
  return row === undefined ? undefined : RunRow.parse(row);
}

/** The newest runs of a job, newest first. */
export function listRunsOfJob(db: Database, job: string, limit: number): Run[] {
  return db
    .prepare(/*sql*/ `SELECT ${columns} FROM runs WHERE job = ? ORDER BY id DESC LIMIT ?`)
    .all(job, limit)
    .map((row) => RunRow.parse(row));
}
