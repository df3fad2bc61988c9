import type { ClusterDatabase } from './cluster-database.ts';
import { rowsMax, short } from './tables.ts';

const tellThem = /*sql*/ `WITH told AS (SELECT * FROM unnest($2::text[], $3::text[], $4::boolean[]) AS told (copy, machine, is_forgotten)),
    gone AS (DELETE FROM analytics_mirror.copies WHERE project = $1 AND copy NOT IN (SELECT copy FROM told))
  INSERT INTO analytics_mirror.copies AS known (project, copy, machine, is_forgotten)
    SELECT $1, copy, machine, is_forgotten FROM told
  ON CONFLICT (project, copy) DO UPDATE SET is_forgotten = known.is_forgotten OR excluded.is_forgotten`;

/** Shows operators the copies of a project that its ledger knows of, beside the holder's. No certificate rests on these rows. */
export async function tellCopies(
  database: ClusterDatabase,
  project: string,
  copies: readonly { id: string; machine: string; isForgotten: boolean }[],
): Promise<void> {
  await database.query(tellThem, [
    project,
    copies.map(({ id }) => id),
    copies.map(({ machine }) => machine),
    copies.map(({ isForgotten }) => isForgotten),
  ]);
}

/** The copies of a project that an operator has forgotten: its holder says so on the ledger. */
export async function forgottenCopies(database: ClusterDatabase, project: string): Promise<string[]> {
  const sql = /*sql*/ `SELECT ${short('copy')} AS copy FROM analytics_mirror.copies WHERE project = $1 AND is_forgotten LIMIT ${rowsMax}`;
  return (await database.query<{ copy: string }>(sql, [project])).map(({ copy }) => copy);
}
