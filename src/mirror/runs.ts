import type { Database } from 'better-sqlite3';
import { z } from 'zod';

/** How a run ended. Only `done` counts as a success. */
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

/** One execution of a job, in the names of its columns. `reason` is an error's code. */
export type Run = z.infer<typeof RunRow>;

const columns = Object.keys(RunRow.shape).join(', ');

/** Records that a run began. Runs that never ended are marked interrupted: their process is gone. */
export function startRun(db: Database, job: string, at: string): number {
  return db
    .transaction(() => {
      db.prepare(
        /*sql*/ `UPDATE runs SET outcome = 'interrupted', reason = 'died', finished_at = ? WHERE outcome IS NULL`,
      ).run(at);
      return Number(
        db.prepare(/*sql*/ `INSERT INTO runs (job, started_at) VALUES (?, ?)`).run(job, at).lastInsertRowid,
      );
    })
    .immediate();
}

/** Records how a run ended. `counts` holds numbers only, never personal data. */
export function finishRun(
  db: Database,
  run: {
    id: number;
    outcome: RunOutcome;
    reason: string | null;
    requests: number;
    counts: object;
    at: string;
  },
): void {
  db.prepare(/*sql*/ `UPDATE runs SET outcome = @outcome, reason = @reason, requests = @requests, counts = @counts, finished_at = @at
      WHERE id = @id`).run({ ...run, counts: JSON.stringify(run.counts) });
}

/** The newest runs, newest first. */
export function listRuns(db: Database, limit: number): Run[] {
  return db
    .prepare(/*sql*/ `SELECT ${columns} FROM runs ORDER BY id DESC LIMIT ?`)
    .all(limit)
    .map((row) => RunRow.parse(row));
}
