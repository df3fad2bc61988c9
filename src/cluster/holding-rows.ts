import type { ClusterDatabase } from './cluster-database.ts';
import { isAhead, isHeld, isHeldIn } from './tables.ts';

/** A project as all machines name it: `id` is a digest of the service's address and the project there. */
export type SharedProject = { id: string; name: string };

/** One holding of a project: the `token` of a later one is larger, also where the database is one of yesterday. */
export type HeldToken = { id: string; token: number };

/** A holding as its row says it. */
export type HeldRow = HeldToken & { name: string; purpose: string };

/** What a row said before a project was taken. */
export type RowBefore = { takenAt: Date; schema: number };

/** What takes a project: a machine, for `worker` or a command by its words. `schema`: the version of the mirror's schema that it writes. */
export type Taker = { machine: string; purpose: string; schema: number; leaseMs: number };

/** A worker: the name of its machine, what tells its process from any other, and the newest schema that it knows. */
export type LiveWorker = { machine: string; process: string; schema: number };

const takeIt = /*sql*/ `WITH before AS (SELECT taken_at, schema FROM analytics_mirror.projects WHERE id = $1)
  UPDATE analytics_mirror.projects SET token = greatest(token + 1, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint), machine = $3, purpose = $4, name = $2,
    held_until = clock_timestamp() + $5 * interval '1 ms', taken_at = clock_timestamp(), schema = greatest(schema, $6),
    wanted_by = NULL, wanted_until = NULL, home = CASE WHEN $4 = 'worker' AND home <> $3 THEN NULL ELSE home END
  WHERE id = $1 AND NOT ${isHeld} AND schema <= $6
    AND ($4 <> 'worker' OR NOT is_paused AND NOT ${isAhead('wanted_until')})
  RETURNING token, ledger_size::float8 AS "ledgerSize", (SELECT taken_at FROM before) AS "takenAt", (SELECT schema FROM before) AS schema`;
const freeIt = /*sql*/ `UPDATE analytics_mirror.projects SET machine = NULL, purpose = NULL, held_until = NULL,
    taken_at = coalesce($3::timestamptz, clock_timestamp()), schema = coalesce($4::int, schema)
  WHERE id = $1 AND token = $2`;
/** A row that is missing, or that an older holding has left, is of a database that was lost: the holder writes it once more. */
const keepThem = /*sql*/ `INSERT INTO analytics_mirror.projects AS project (id, token, name, purpose, machine, schema, held_until)
    SELECT id, token, name, purpose, $5, $6, clock_timestamp() + $7 * interval '1 ms'
    FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[]) AS own (id, token, name, purpose)
  ON CONFLICT (id) DO UPDATE SET token = excluded.token, machine = excluded.machine, purpose = excluded.purpose,
    schema = greatest(project.schema, excluded.schema), held_until = excluded.held_until
    WHERE project.token = excluded.token AND project.machine IS NOT NULL OR project.token < excluded.token AND NOT ${isHeldIn('project')}
  RETURNING id`;
const wantIt = /*sql*/ `UPDATE analytics_mirror.projects SET wanted_by = $2,
    wanted_until = clock_timestamp() + interval '15 seconds'
  WHERE id = $1`;
const liveNow = /*sql*/ `INSERT INTO analytics_mirror.machines (name, process, live_until, schema)
    VALUES ($1, $2, clock_timestamp() + $3 * interval '1 ms', $4)
  ON CONFLICT (name) DO UPDATE
    SET process = $2, live_until = excluded.live_until, schema = $4, is_draining = false, is_able = true
    WHERE machines.process = $2 OR NOT ${isAhead('machines.live_until')}
  RETURNING name`;
const liveOn = /*sql*/ `UPDATE analytics_mirror.machines SET live_until = clock_timestamp() + $2 * interval '1 ms'
  WHERE process = $1 RETURNING name`;
const liveNoMore = /*sql*/ `UPDATE analytics_mirror.machines SET live_until = clock_timestamp() WHERE process = $1`;

/** Takes a project: the token of the holding, the size of its ledger that is noted, and what the row said before; null where it cannot be taken now. */
export async function takeProject(
  database: ClusterDatabase,
  { id, name }: SharedProject,
  { machine, purpose, schema, leaseMs }: Taker,
): Promise<{ token: number; ledgerSize: number; before: RowBefore } | null> {
  await database.query(
    /*sql*/ `INSERT INTO analytics_mirror.projects (id, name) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING`,
    [id, name],
  );
  const values = [id, name, machine, purpose, leaseMs, schema];
  const [row] = await database.query<{ token: string; ledgerSize: number } & RowBefore>(takeIt, values);
  return row ? { token: Number(row.token), ledgerSize: row.ledgerSize, before: row } : null;
}

/** Notes how many entries the ledger of a project has in the bucket. Does nothing where another holding has followed. */
export async function noteLedgerSize(database: ClusterDatabase, { id, token }: HeldToken, size: number): Promise<void> {
  await database.query(/*sql*/ `UPDATE analytics_mirror.projects SET ledger_size = $3 WHERE id = $1 AND token = $2`, [
    id,
    token,
    size,
  ]);
}

/**
 * Lets other machines take a project. Does nothing where another holding has followed. `before`: what the row is to say again, where the
 * project could not be opened.
 */
export async function freeProject(
  database: ClusterDatabase,
  { id, token }: HeldToken,
  before?: RowBefore,
): Promise<void> {
  await database.query(freeIt, [id, token, before?.takenAt, before?.schema]);
}

/** Keeps holdings for another lease. Returns those that are another's now. */
export async function keepProjects(
  database: ClusterDatabase,
  held: readonly HeldRow[],
  { machine, schema }: Pick<LiveWorker, 'machine' | 'schema'>,
  leaseMs: number,
): Promise<HeldRow[]> {
  if (held.length === 0) return [];
  const rows = [held.map(({ id }) => id), held.map(({ token }) => token), held.map(({ name }) => name)];
  const values = [...rows, held.map(({ purpose }) => purpose), machine, schema, leaseMs];
  const kept = await database.query<{ id: string }>(keepThem, values);
  return held.filter(({ id }) => !kept.some((row) => row.id === id));
}

/** Asks the holder of a project for it, for 15 seconds. `by`: the command that waits, and its machine. */
export async function wantProject(database: ClusterDatabase, id: string, by: string): Promise<void> {
  await database.query(wantIt, [id, by]);
}

/** Says that a worker lives, for one lease. Returns false while another worker has the name of its machine. */
export async function beginToLive(
  database: ClusterDatabase,
  { machine, process, schema }: LiveWorker,
  leaseMs: number,
): Promise<boolean> {
  return (await database.query(liveNow, [machine, process, leaseMs, schema])).length > 0;
}

/** Says that a worker lives on, for another lease. A database that has forgotten it hears of it anew. */
export async function liveFurther(database: ClusterDatabase, worker: LiveWorker, leaseMs: number): Promise<void> {
  const known = await database.query(liveOn, [worker.process, leaseMs]);
  if (known.length === 0) await beginToLive(database, worker, leaseMs);
}

/** Says whether a worker can open projects. */
export async function tellAble(database: ClusterDatabase, process: string, isAble: boolean): Promise<void> {
  await database.query(/*sql*/ `UPDATE analytics_mirror.machines SET is_able = $2 WHERE process = $1`, [
    process,
    isAble,
  ]);
}

/** Says that a worker has ended. */
export async function liveNoLonger(database: ClusterDatabase, process: string): Promise<void> {
  await database.query(liveNoMore, [process]);
}
