import type Pg from 'pg';
import type { Pool, PoolClient, QueryResultRow } from 'pg';
import { AppError, systemCode } from '../core/errors.ts';
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

/** What a statement that finds no table is called. */
const noTables = 'no_tables';

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

/** The driver's error as one of this program's. Its own message is left out: it can hold the address. */
function explain(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const state = systemCode(error) ?? '';
  if (state.startsWith('28') || state === '3D000')
    return new AppError(`the database of the cluster refuses this user or has no such database (${state})`, {
      code: 'usage',
      hint: 'set cluster.database (or MIRROR_CLUSTER_DATABASE) to an address that can be used',
    });
  // Node names the errors of certificates so; the driver's own have no code.
  if (
    /CERT|SIGNATURE|ALTNAME|^ERR_(?:SSL|TLS)/.test(state) ||
    (error instanceof Error && /\bSSL\b/.test(error.message))
  )
    return new AppError(
      `the database of the cluster offers no connection that can be trusted${state && ` (${state})`}`,
      {
        code: 'usage',
        hint: 'turn TLS on there; for a certificate authority of your own, set NODE_EXTRA_CA_CERTS to its file',
      },
    );
  if (state === '42501')
    return new AppError('the user of the cluster database may not make or change its tables (42501)', {
      code: 'usage',
      hint: 'let it make a schema: GRANT CREATE ON DATABASE … TO …',
    });
  const isRefused = /^[0-9A-Z]{5}$/.test(state) && !/^(?:08|40|53|55|57|58)/.test(state);
  return new AppError(
    `the database of the cluster ${isRefused ? 'refuses a statement' : 'does not answer'}${state === '' ? '' : ` (${state})`}`,
    {
      code: isRefused ? 'storage' : 'unreachable',
      ...(['42P01', '3F000'].includes(state) ? { finding: noTables } : {}),
      hint: isRefused
        ? 'report this; docs/cluster.md says which versions of Postgres are known'
        : 'see that it runs and can be reached',
      retryable: !isRefused,
    },
  );
}
