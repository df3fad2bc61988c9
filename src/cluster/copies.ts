import type { ClusterDatabase } from './cluster-database.ts';
import { iso, madeTables } from './tables.ts';

/** A local copy of a project's data that a machine has, or may have. `since` is ISO 8601 UTC. `isForgotten`: an operator said that it is gone. */
type Copy = { project: string; machine: string; since: string; isForgotten: boolean };

/** The copies that machines have. A row stands there before a copy is made, until after it is deleted. */
export type Copies = {
  /** Notes that a machine is about to make a copy. Call it before the first byte is written. */
  note: (project: string, machine: string) => Promise<void>;
  /** Notes that a machine has deleted its copy. */
  forget: (project: string, machine: string) => Promise<void>;
  ofProject: (project: string) => Promise<Copy[]>;
  ofMachine: (machine: string) => Promise<Copy[]>;
};

const select = /*sql*/ `SELECT project, machine, ${iso('since', 'MS')} AS since, is_forgotten AS "isForgotten" FROM analytics_mirror.copies`;

/** Keeps the copies in the database of the cluster. */
export function openCopies(database: ClusterDatabase): Copies {
  const ask = async <Row extends Record<string, unknown>>(sql: string, values: string[]): Promise<Row[]> => {
    await madeTables(database);
    return database.query<Row>(sql, values);
  };
  return {
    note: async (...copy) => {
      await ask(
        /*sql*/ `INSERT INTO analytics_mirror.copies (project, machine) VALUES ($1, $2)
          ON CONFLICT (project, machine) DO UPDATE SET is_forgotten = false`,
        copy,
      );
    },
    forget: async (...copy) => {
      await ask(/*sql*/ `DELETE FROM analytics_mirror.copies WHERE project = $1 AND machine = $2`, copy);
    },
    ofProject: (project) => ask<Copy>(`${select} WHERE project = $1 ORDER BY machine`, [project]),
    ofMachine: (machine) => ask<Copy>(`${select} WHERE machine = $1 ORDER BY project`, [machine]),
  };
}
