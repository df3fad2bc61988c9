import type { Database } from 'better-sqlite3';
import { z } from 'zod';
import { alertKinds } from '../config/alert-kinds.ts';
import { scheduledJobs } from '../config/settings.ts';

const OpenAlert = z.object({
  kind: z.enum(alertKinds),
  job: z.enum(scheduledJobs).nullable(),
  message: z.string(),
  todo: z.string(),
});

/** An alert that was told of as begun, and not yet as ended. Holds no personal data. */
export type OpenAlert = z.infer<typeof OpenAlert>;

/** The alerts that were last kept; without those of kinds or jobs that this program does not know. */
export function readOpenAlerts(db: Database): OpenAlert[] {
  return db
    .prepare(/*sql*/ `SELECT kind, job, message, todo FROM open_alerts ORDER BY rowid`)
    .all()
    .flatMap((row) => OpenAlert.safeParse(row).data ?? []);
}

/** Keeps these alerts, in place of those that were kept before. */
export function replaceOpenAlerts(db: Database, alerts: readonly OpenAlert[]): void {
  db.transaction(() => {
    db.prepare(/*sql*/ `DELETE FROM open_alerts`).run();
    const insert = db.prepare(
      /*sql*/ `INSERT INTO open_alerts (kind, job, message, todo) VALUES (@kind, @job, @message, @todo)`,
    );
    for (const alert of alerts) insert.run(alert);
  }).immediate();
}
