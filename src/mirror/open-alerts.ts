import type { Database } from 'better-sqlite3';
import { z } from 'zod';
import { alertKinds } from '../config/alert-kinds.ts';
import { scheduledJobs } from '../config/settings.ts';
import { transact } from './transact.ts';

export const Alert = z.object({
  kind: z.enum(alertKinds),
  /** The job that is stale or failing; null for an alert about the whole project. */
  job: z.enum(scheduledJobs).nullable(),
  /** What is wrong, without a full stop. */
  message: z.string(),
  /** What to do about it; commands stand between backticks. */
  todo: z.string(),
});

/** Something that needs an operator. Holds no personal data. */
export type Alert = z.infer<typeof Alert>;

/** The alerts that were last kept, without those of kinds or jobs that this program does not know. */
export function readOpenAlerts(db: Database): Alert[] {
  return db
    .prepare(/*sql*/ `SELECT kind, job, message, todo FROM open_alerts ORDER BY rowid`)
    .all()
    .flatMap((row) => Alert.safeParse(row).data ?? []);
}

/** Keeps these alerts, in place of those that were kept before. */
export function replaceOpenAlerts(db: Database, alerts: readonly Alert[]): void {
  transact(db, () => {
    db.prepare(/*sql*/ `DELETE FROM open_alerts`).run();
    const insert = db.prepare(
      /*sql*/ `INSERT INTO open_alerts (kind, job, message, todo) VALUES (@kind, @job, @message, @todo)`,
    );
    for (const alert of alerts) insert.run(alert);
  });
}
