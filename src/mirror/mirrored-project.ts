import type { Database } from 'better-sqlite3';
import { AppError } from '../core/errors.ts';

/** A project: where its service answers (scheme, host and port), and its id there. */
export type MirroredProject = { origin: string; projectId: string };

/**
 * Makes the mirror this project's, as long as it has never held a row; later only the same project is let in, at the
 * same origin or at one that its service has `movedFrom` there. Throws `usage` for any other project: its lists would
 * make every row of the mirror absent.
 */
export function claimMirror(db: Database, project: MirroredProject, movedFrom: string | null): void {
  db.transaction(() => {
    const owner = db
      .prepare<[], MirroredProject>(
        /*sql*/ `SELECT origin, project_id AS projectId FROM mirrored_project WHERE EXISTS (SELECT 1 FROM changes)`,
      )
      .get();
    if (owner === undefined)
      db.prepare(/*sql*/ `INSERT OR REPLACE INTO mirrored_project (only_row, origin, project_id)
        VALUES (1, @origin, @projectId)`).run(project);
    else if (owner.projectId !== project.projectId || ![project.origin, movedFrom].includes(owner.origin))
      throw new AppError(
        `the data folder mirrors project ${owner.projectId} of ${owner.origin}, not project ${project.projectId} of ${project.origin}`,
        {
          code: 'usage',
          hint: 'give each project a dataDir (MIRROR_DATA_DIR) of its own; where the service has moved, set service.movedFrom to its old address',
        },
      );
  }).immediate();
}
