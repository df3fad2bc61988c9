import type Pg from 'pg';
import type { Pool, PoolClient, QueryResultRow } from 'pg';
import { AppError } from '../core/errors.ts';
import { explainPostgres, noTables } from '../core/postgres-error.ts';
import { tables } from './tables.ts';

/** The tables that the machines of a cluster share. */
export type ClusterDatabase = {
  /** Runs one statement. Rejects as `explain` says. */
  query: <Row extends QueryResultRow>(sql: string, values: readonly unknown[]) => Promise<Row[]>;
  /** Runs statements in one transaction, while nobody else runs one under the same lock. An error undoes it. */
  locked: <T>(lock: string, work: (query: ClusterDatabase['query']) => Promise<T>) => Promise<T>;
  close: () => Promise<void>;
};

/** Longer than any statement here takes; a database that is silent for so long is gone. */
const silenceMs = 10_000;

/** No window is longer than this: what keys that are no longer used have left. */
const forgetOld = /*sql*/ `DELETE FROM analytics_mirror.request_times
  WHERE ended_at_ms < extract(epoch FROM clock_timestamp() - interval '25 days') * 1000`;

/** Opens the database of a cluster at its first use, and makes the tables that it lacks. The driver is loaded here only. */
export function openClusterDatabase(address: string): ClusterDatabase {
  let opening: Promise<Pool> | undefined;
  const pool = (): Promise<Pool> =>
    (opening ??= import('pg')
      .then(({ default: pg }) => openPool(pg, address))
      .catch((error: unknown) => {
        opening = undefined;
        throw explain(error);
      }));
  const queryBy =
    (client: Pool | PoolClient): ClusterDatabase['query'] =>
    async <Row extends QueryResultRow>(sql: string, values: readonly unknown[]) =>
      (await client.query<Row>(sql, [...values])).rows;
  return {
    query: (sql, values) => withTables(pool, (opened) => explained(() => queryBy(opened)(sql, values))),
    locked: (lock, work) =>
      withTables(pool, async (opened) => {
        const client = await explained(() => opened.connect());
        let isBroken = true;
        try {
          const query: ClusterDatabase['query'] = (...given) => explained(() => queryBy(client)(...given));
          await query('BEGIN', []);
          await query(/*sql*/ `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, [lock]);
          const result = await work(query);
          await query('COMMIT', []);
          isBroken = false;
          return result;
        } finally {
          // A connection whose transaction did not end is closed, which undoes it.
          client.release(isBroken);
        }
      }),
    close: async () => {
      const opened = opening;
      opening = undefined;
      await (await opened)?.end();
    },
  };
}

async function openPool(pg: typeof Pg, address: string): Promise<Pool> {
  const pool = new pg.Pool({
    connectionString: address,
    application_name: 'analytics-mirror',
    connectionTimeoutMillis: silenceMs,
    query_timeout: silenceMs,
    statement_timeout: silenceMs,
    max: 8,
    // A command ends without waiting for connections that do nothing.
    allowExitOnIdle: true,
  });
  // A connection that breaks fails the statement under way, and is replaced at the next use.
  const ignore = (): void => undefined;
  pool.on('error', ignore).on('connect', (client) => client.on('error', ignore));
  try {
    const { rows } = await pool.query<{ there: string | null }>(
      /*sql*/ `SELECT to_regclass('analytics_mirror.copies') AS there`,
    );
    // A user that may not make tables can use those that are there.
    if (rows[0]?.there === null) await pool.query(tables);
    await pool.query(forgetOld);
    return pool;
  } catch (error) {
    await pool.end();
    throw error;
  }
}

/** Does something in the database, and once more where its tables are gone: it may have come back empty. */
async function withTables<T>(pool: () => Promise<Pool>, act: (pool: Pool) => Promise<T>): Promise<T> {
  const opened = await pool();
  return act(opened).catch(async (error: unknown) => {
    if (!(error instanceof AppError) || error.finding !== noTables) throw error;
    await explained(() => opened.query(tables));
    return act(opened);
  });
}

async function explained<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw explain(error);
  }
}

function explain(error: unknown): AppError {
  return explainPostgres(error, {
    is: 'the database of the cluster',
    place: 'cluster.database (or MIRROR_CLUSTER_DATABASE)',
  });
}
