import type { ClusterDatabase } from './cluster-database.ts';

/**
 * Which machine holds a project (`token` numbers the holdings), and what its holder says of it. `taken_at`: when the project was taken
 * last, or given up, or written down. `home`: the machine that an operator has named for it. `wanted_by`: the command that waits for
 * it, as long as it says so. `alerted_at`: since when it is announced that no machine works on it. `ledger_size`: how many entries its ledger had at the last commit. Of a
 * machine, `schema` is the newest that it knows, `is_able` whether it can open projects. `copies`: those that ledgers know of, beside the
 * holders' own; an operator can forget one. All times are the database's.
 */
const tables = /*sql*/ `
  SELECT pg_advisory_xact_lock(hashtextextended('analytics-mirror', 0));
  CREATE SCHEMA IF NOT EXISTS analytics_mirror;
  CREATE TABLE IF NOT EXISTS analytics_mirror.projects (
    id text PRIMARY KEY,
    name text NOT NULL,
    token bigint NOT NULL DEFAULT 0,
    machine text,
    purpose text,
    held_until timestamptz,
    taken_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    schema int NOT NULL DEFAULT 0,
    is_paused boolean NOT NULL DEFAULT false,
    home text,
    wanted_by text,
    wanted_until timestamptz,
    state jsonb,
    state_at timestamptz,
    alerted_at timestamptz,
    ledger_size bigint NOT NULL DEFAULT 0
  );
  CREATE TABLE IF NOT EXISTS analytics_mirror.machines (
    name text PRIMARY KEY,
    process text NOT NULL,
    live_until timestamptz NOT NULL,
    is_draining boolean NOT NULL DEFAULT false,
    schema int NOT NULL DEFAULT 0,
    is_able boolean NOT NULL DEFAULT true
  );
  CREATE TABLE IF NOT EXISTS analytics_mirror.copies (
    project text NOT NULL,
    copy text NOT NULL,
    machine text NOT NULL,
    is_forgotten boolean NOT NULL,
    PRIMARY KEY (project, copy)
  );
`;

/** Whether a process holds a row of `projects`. A time far ahead was written before the database's clock was set back. */
export const isHeld = /*sql*/ `coalesce(held_until > clock_timestamp() AND held_until < clock_timestamp() + interval '10 minutes', false)`;

/** A time as ISO 8601 UTC, with microseconds (US) or milliseconds (MS). */
export const iso = (time: string, fraction: 'US' | 'MS' = 'US'): string =>
  /*sql*/ `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.${fraction}"Z"')`;

const made = new WeakMap<ClusterDatabase, Promise<void>>();

/** Makes the tables of the cluster where they are missing, once. A user who may not can use those that are there. */
export function madeTables(database: ClusterDatabase): Promise<void> {
  const making = made.get(database) ?? make(database);
  made.set(database, making);
  return making;
}

async function make(database: ClusterDatabase): Promise<void> {
  try {
    const [row] = await database.query<{ there: string | null }>(
      /*sql*/ `SELECT to_regclass('analytics_mirror.copies') AS there`,
      [],
    );
    if (row?.there === null) await database.script(tables);
  } catch (error) {
    made.delete(database);
    throw error;
  }
}
