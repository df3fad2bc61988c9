/**
 * `request_times` and `request_pace` are the budget of a key. `projects`: which machine holds a project (`token` numbers the holdings), and what its holder says of it. `taken_at`: when the project was taken
 * last, or given up, or written down. `home`: the machine that an operator has named for it. `wanted_by`: the command that waits for
 * it, as long as it says so. `alerted_at`: since when it is announced that no machine works on it. `ledger_size`: how many entries its ledger had at the last commit. Of a
 * machine, `schema` is the newest that it knows, `is_able` whether it can open projects. `copies`: those that ledgers know of, beside the
 * holders' own; an operator can forget one. All times are the database's.
 */
export const tables = /*sql*/ `
  SELECT pg_advisory_xact_lock(hashtextextended('analytics-mirror', 0));
  CREATE SCHEMA IF NOT EXISTS analytics_mirror;
  CREATE TABLE IF NOT EXISTS analytics_mirror.request_times (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account text NOT NULL,
    lane text NOT NULL,
    ended_at_ms bigint NOT NULL,
    under_way_ms bigint NOT NULL
  );
  CREATE INDEX IF NOT EXISTS request_times_by_end ON analytics_mirror.request_times (account, ended_at_ms);
  CREATE TABLE IF NOT EXISTS analytics_mirror.request_pace (account text PRIMARY KEY, pace text NOT NULL);
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

/** Whether the time of a lease is not over. One far ahead was written before the database's clock was set back, or by no machine. */
export const isAhead = (time: string): string =>
  /*sql*/ `coalesce(${time} > clock_timestamp() AND ${time} < clock_timestamp() + interval '10 minutes', false)`;
/** Whether a process holds a row of `projects`, as a table of a statement is called. */
export const isHeldIn = (table: string): string => isAhead(`${table}.held_until`);
/** The same, of the one table of a statement. */
export const isHeld = isHeldIn('projects');

/** A time as ISO 8601 UTC, with microseconds (US) or milliseconds (MS). */
export const iso = (time: string, fraction: 'US' | 'MS' = 'US'): string =>
  /*sql*/ `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.${fraction}"Z"')`;

/** A text of a row as it is read: whoever can write there can write a gigabyte. */
export const short = (column: string): string => /*sql*/ `left(${column}, 200)`;
/** So many rows of a table are read at most. */
export const rowsMax = 10_000;
/** What a holder has said of its project; null where it is larger than any holder says. */
export const stateRead = /*sql*/ `CASE WHEN octet_length(state::text) <= 262144 THEN state END AS state`;
