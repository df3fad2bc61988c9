import { AppError, usageError } from '../core/errors.ts';
import { secondText } from '../core/words.ts';
import type { ClusterDatabase } from './cluster-database.ts';
import type { SharedProject } from './holding-rows.ts';
import type { SeenMachine, SeenProject } from './share-plan.ts';
import { isAhead, isHeld, iso, rowsMax, short, stateRead } from './tables.ts';
import { schemaVersion } from '../mirror/migrate.ts';
import { ProjectState } from '../job/worker-state.ts';

/** A project with its holder. Times are ISO 8601 UTC, by the database's clock. */
type RosterProject = SeenProject & {
  token: number;
  /** Whether its silence is announced. */
  isAnnounced: boolean;
};
/** A copy, by its id, that a machine has left of a project that others hold. */
type LeftCopy = { project: string; machine: string; copy: string };
/** A machine: whether its worker lives, and how many projects it holds, and has left copies of. */
type RosterMachine = SeenMachine & { isLive: boolean; projects: number; copies: number };
/** The projects and machines of a cluster, by name, at a moment of the database's clock. */
export type Roster = { at: string; projects: RosterProject[]; machines: RosterMachine[]; copies: LeftCopy[] };

/**
 * Whether a project is silent: for three minutes, no holder has said anything of it, and its holder has not changed. A command says
 * nothing while it works. An announced silence ends only when a holder says something: a machine that takes the project may be
 * unable to open it.
 */
const isSilent = /*sql*/ `(NOT is_paused AND NOT (${isHeld} AND purpose <> 'worker')
    AND NOT coalesce(greatest(state_at, CASE WHEN alerted_at IS NULL THEN taken_at END)
      BETWEEN clock_timestamp() - interval '3 minutes' AND clock_timestamp() + interval '3 minutes', false))`;
const selectProjects = /*sql*/ `SELECT ${short('id')} AS id, ${short('name')} AS name, token::float8 AS token, is_paused AS "isPaused", ${short('home')} AS home, schema,
    ${isSilent} AS "isSilent", alerted_at IS NOT NULL AS "isAnnounced",
    CASE WHEN ${isHeld} THEN ${short('machine')} END AS holder, CASE WHEN ${isHeld} THEN ${short('purpose')} END AS purpose,
    CASE WHEN ${isHeld} THEN ${iso('taken_at')} END AS since,
    CASE WHEN ${isAhead('wanted_until')} THEN ${short('wanted_by')} END AS "wantedBy"
  FROM analytics_mirror.projects ORDER BY projects.name LIMIT ${rowsMax}`;
/** The counts are made once for all machines. A statement that makes them for each machine is compiled by Postgres, for half a second. */
const selectMachines = /*sql*/ `SELECT ${short('known.name')} AS name, coalesce(machine.is_draining, false) AS "isDraining",
    coalesce(machine.schema, 0) AS schema, coalesce(machine.is_able, true) AS "isAble",
    ${isAhead('machine.live_until')} AS "isLive",
    coalesce(held.count, 0) AS projects, coalesce(copied.count, 0) AS copies
  FROM (SELECT name FROM analytics_mirror.machines UNION SELECT machine FROM analytics_mirror.copies WHERE NOT is_forgotten) AS known (name)
    LEFT JOIN analytics_mirror.machines AS machine USING (name)
    LEFT JOIN (SELECT machine AS name, count(*)::int FROM analytics_mirror.projects WHERE ${isHeld} GROUP BY machine) AS held USING (name)
    LEFT JOIN (SELECT machine AS name, count(*)::int FROM analytics_mirror.copies WHERE NOT is_forgotten GROUP BY machine) AS copied USING (name)
  ORDER BY known.name LIMIT ${rowsMax}`;

const selectCopies = /*sql*/ `SELECT ${short('project.name')} AS project, ${short('copied.machine')} AS machine, ${short('copied.copy')} AS copy
  FROM analytics_mirror.copies AS copied JOIN analytics_mirror.projects AS project ON project.id = copied.project
  WHERE NOT copied.is_forgotten ORDER BY 1, 2, 3 LIMIT ${rowsMax}`;

/** Why this program leaves a project alone whose schema it does not know; null where it knows it. */
export function newerReason({ schema }: Pick<SeenProject, 'schema'>, known: number): string | null {
  return schema > known ? 'a newer version of analytics-mirror has written it' : null;
}

/** Reads the projects and machines of a cluster. */
export async function readRoster(database: ClusterDatabase): Promise<Roster> {
  const [now] = await database.query<{ at: string }>(/*sql*/ `SELECT ${iso('clock_timestamp()')} AS at`, []);
  const projects = await database.query<RosterProject>(selectProjects, []);
  const machines = await database.query<RosterMachine>(selectMachines, []);
  return { at: now?.at ?? '', projects, machines, copies: await database.query<LeftCopy>(selectCopies, []) };
}

/** Writes the rows of projects that no machine has taken yet, so that they can be shared out. */
export async function enrol(database: ClusterDatabase, projects: readonly SharedProject[]): Promise<void> {
  await database.query(
    /*sql*/ `INSERT INTO analytics_mirror.projects (id, name) SELECT * FROM unnest($1::text[], $2::text[])
      ON CONFLICT (id) DO NOTHING`,
    [projects.map(({ id }) => id), projects.map(({ name }) => name)],
  );
}

/** Notes which of these projects no machine works on. Returns each whose note has changed, to one of all machines that ask. */
export function noteSilence(
  database: ClusterDatabase,
  ids: readonly string[],
): Promise<{ id: string; schema: number; isSilent: boolean }[]> {
  return database.query(
    /*sql*/ `UPDATE analytics_mirror.projects SET alerted_at = CASE WHEN alerted_at IS NULL THEN clock_timestamp() END
      WHERE id = ANY($1) AND ${isSilent} <> (alerted_at IS NOT NULL)
      RETURNING id, schema, alerted_at IS NOT NULL AS "isSilent"`,
    [ids],
  );
}

/** What the holder of a project says of it. `at`: when, by the database's clock. */
export type ToldState = { id: string; state: object; at: string };

/** Stores what this machine says of the projects that it holds. A project that it has lost is left alone. */
export async function tellStates(
  database: ClusterDatabase,
  told: readonly { id: string; token: number; state: object }[],
): Promise<void> {
  if (told.length === 0) return;
  await database.query(
    /*sql*/ `UPDATE analytics_mirror.projects AS project SET state = own.state::jsonb, state_at = clock_timestamp()
      FROM unnest($1::text[], $2::bigint[], $3::text[]) AS own (id, token, state)
      WHERE project.id = own.id AND project.token = own.token`,
    [told.map(({ id }) => id), told.map(({ token }) => token), told.map(({ state }) => JSON.stringify(state))],
  );
}

/** What holders have said of these projects since a time, the oldest first; all where it is null. */
export function readStates(
  database: ClusterDatabase,
  ids: readonly string[],
  since: string | null,
): Promise<ToldState[]> {
  return database.query<ToldState>(
    /*sql*/ `SELECT id, ${stateRead}, ${iso('state_at')} AS at FROM analytics_mirror.projects
      WHERE id = ANY($2) AND state IS NOT NULL AND state_at <= clock_timestamp() AND ($1::timestamptz IS NULL OR state_at > $1::timestamptz) ORDER BY state_at`,
    [since, ids],
  );
}

/** What an operator can say of a project or a machine. Each rejects with `usage` where there is none of this name. */
export type ClusterOrders = {
  pause: (name: string, isPaused: boolean) => Promise<void>;
  move: (name: string, machine: string) => Promise<void>;
  drain: (machine: string) => Promise<void>;
  /**
   * Declares that a machine and its disk are gone, or the disk of one copy. Returns how many copies that were: their holders say so on
   * the ledgers. Rejects with `busy` for a machine that lives.
   */
  forget: (machineOrCopy: string) => Promise<number>;
};

/** The orders of an operator, in the database. */
export function clusterOrders(database: ClusterDatabase): ClusterOrders {
  const change = async (what: string, name: string, sql: string, values: readonly unknown[]): Promise<void> => {
    if ((await database.query(`${sql} RETURNING 1 AS done`, values)).length > 0) return;
    throw usageError(
      `the cluster has no ${what} ${name}`,
      '`analytics-mirror cluster list` lists projects and machines',
    );
  };
  const ofLive = /*sql*/ `EXISTS (SELECT 1 FROM analytics_mirror.machines WHERE name = $2 AND ${isAhead('live_until')})`;
  return {
    pause: (name, isPaused) =>
      change('project', name, /*sql*/ `UPDATE analytics_mirror.projects SET is_paused = $2 WHERE name = $1`, [
        name,
        isPaused,
      ]),
    move: async (name, machine) => {
      await change('project', name, /*sql*/ `UPDATE analytics_mirror.projects SET home = home WHERE name = $1`, [name]);
      const sql = /*sql*/ `UPDATE analytics_mirror.projects SET home = $2 WHERE name = $1 AND ${ofLive}`;
      await change('living machine', machine, sql, [name, machine]);
    },
    drain: (machine) =>
      change(
        'living machine',
        machine,
        /*sql*/ `UPDATE analytics_mirror.machines SET is_draining = true WHERE name = $1 AND ${isAhead('live_until')}`,
        [machine],
      ),
    forget: async (name) => {
      const { machines } = await readRoster(database);
      const found = machines.find((machine) => machine.name === name);
      if (found && (found.isLive || found.projects > 0))
        throw new AppError(`the machine ${name} lives`, {
          code: 'busy',
          hint: 'stop it first; or name the copy whose disk is gone, as `analytics-mirror cluster list --json` lists it',
        });
      const forgotten = /*sql*/ `UPDATE analytics_mirror.copies SET is_forgotten = true WHERE NOT is_forgotten AND $1 IN (machine, copy) RETURNING copy`;
      const gone = await database.query(forgotten, [name]);
      const remove = /*sql*/ `DELETE FROM analytics_mirror.machines WHERE name = $1`;
      if (found || gone.length > 0) await database.query(remove, [name]);
      else await change('machine or copy', name, remove, [name]);
      return gone.length;
    },
  };
}

/**
 * A project of a cluster that this machine does not hold: who does (null: no machine), and what its last holder said of it.
 * `at`: when, in ISO 8601 UTC by the clock of the cluster's database. Null where none has said anything yet.
 */
export type ElsewhereReport = {
  project: string;
  holder: { machine: string; purpose: string; since: string } | null;
  isPaused: boolean;
  /** Whether no machine has said anything of it for minutes. */
  isSilent: boolean;
  /** Why this program leaves it alone: a newer version has written it. */
  newer: string | null;
  said: ({ at: string } & ProjectState) | null;
};

/** Says who holds a project. */
export function holderText({ project, holder }: ElsewhereReport): string {
  const held = holder ? `${holder.machine} (${holder.purpose}) since ${secondText(holder.since)}` : 'no machine';
  return `${project} is held by ${held}`;
}

/** Throws `usage` where another project has this name and entries on its ledger: a new one is hardly what is meant. */
export async function refuseNamesake(database: ClusterDatabase, { id, name }: SharedProject): Promise<void> {
  const sql = /*sql*/ `SELECT 1 AS found FROM analytics_mirror.projects WHERE name = $2 AND id <> $1 AND ledger_size > 0 LIMIT 1`;
  if ((await database.query(sql, [id, name])).length > 0)
    throw usageError(
      `the cluster has a project ${name} already, of another service or number`,
      'if its service has moved, set service.movedFrom to the former address; else give this project another name',
    );
}

/** Reports a project by the database of its cluster, without taking it. Rejects where the database does not answer. */
export async function reportElsewhere(
  database: ClusterDatabase,
  { id, name }: SharedProject,
): Promise<ElsewhereReport> {
  const { projects } = await readRoster(database);
  const found = projects.find((project) => project.id === id);
  const [said] = await database.query<ToldState>(
    /*sql*/ `SELECT id, ${stateRead}, ${iso('state_at')} AS at FROM analytics_mirror.projects WHERE state IS NOT NULL AND id = $1`,
    [id],
  );
  const state = ProjectState.safeParse(said?.state).data;
  return {
    project: name,
    holder:
      !found || found.holder === null
        ? null
        : { machine: found.holder, purpose: found.purpose ?? '', since: found.since ?? '' },
    isPaused: found?.isPaused ?? false,
    isSilent: found?.isSilent ?? false,
    newer: found ? newerReason(found, schemaVersion()) : null,
    said: said && state ? { ...state, at: said.at } : null,
  };
}
