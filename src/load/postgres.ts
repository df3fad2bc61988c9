import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type Pg from 'pg';
import type * as CopyStreams from 'pg-copy-streams';
import { usageError } from '../core/errors.ts';
import { explainPostgres } from '../core/postgres-error.ts';
import { sqlName, sqlText } from '../snapshot/duckdb.ts';
import type { WarehousePlace } from './address.ts';
import { dialects, linesOf, type LoadedColumn } from './dialect.ts';
import { linesRead, type Reader } from './duckdb-reader.ts';
import type { WarehouseTable } from './plan.ts';
import { allRows, goneAfter, rowsAfter } from './published.ts';
import { tablesOf, type Change, type Warehouse } from './warehouse.ts';

const dialect = dialects.postgres;
const connectMs = 10_000;
/** So long a server may say nothing to a statement, and another may hold a lock. */
const [silentMs, lockMs] = [600_000, 60_000];

/** A connection, and the schema of the tables. */
type Session = { client: Pg.Client; socket: Socket; schema: string; reader: Reader; signal: AbortSignal };

/** Opens a database of Postgres. The drivers are loaded here only. An abort breaks the connection, which undoes a transaction. */
export async function openPostgres(
  { at, schema, password }: WarehousePlace,
  reader: Reader,
  signal: AbortSignal,
): Promise<Warehouse> {
  const { Client } = createRequire(import.meta.url)('pg') as typeof Pg;
  const address = new URL(at);
  if (password !== null) address.password = encodeURIComponent(password);
  const socket = new Socket();
  const client = new Client({
    connectionString: address.href,
    application_name: 'analytics-mirror',
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    stream: () => socket,
  });
  // A connection that breaks fails the statement under way.
  client.on('error', () => undefined);
  const abort = (): void => void socket.destroy();
  socket.on('timeout', abort);
  signal.addEventListener('abort', abort);
  const session: Session = { client, socket, schema, reader, signal };
  const close = async (): Promise<void> => {
    signal.removeEventListener('abort', abort);
    await client.end().catch(() => undefined);
  };
  try {
    await explained(session, () => client.connect());
    // Where a policy hides rows, a statement fails. With every name in quotes, no type would be known.
    await query(session, `SET row_security = off; SET quote_all_identifiers = off; SET lock_timeout = ${lockMs}`);
    // A load lasts as long as its rows need, whatever the user's queries may.
    await query(session, `SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0`);
    const [[encoding = ''] = []] = await query(session, `SELECT current_setting('server_encoding')`);
    if (encoding !== 'UTF8')
      throw usageError(
        `the database has the encoding ${encoding}, which cannot hold every published text`,
        "make one with ENCODING 'UTF8'",
      );
  } catch (error) {
    await close();
    throw error;
  }
  return {
    dialect,
    nameOf: (table) => nameIn(schema, table),
    tables: async () => tablesOf(await query(session, columnsOf(schema))),
    query: (sql) => query(session, sql),
    together: (work) => inTransaction(session, work),
    apply: (change) => apply(session, change),
    [Symbol.asyncDispose]: close,
  };
}

function columnsOf(schema: string): string {
  return /*sql*/ `SELECT relname, coalesce(obj_description(c.oid, 'pg_class'), ''), coalesce(attname, ''), format_type(atttypid, atttypmod)
    FROM pg_class AS c LEFT JOIN pg_attribute ON attrelid = c.oid AND attnum > 0 AND NOT attisdropped
    WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = ${sqlText(schema)}) AND relkind IN ('r', 'p', 'v', 'm', 'f')`;
}

function nameIn(schema: string, table: string): string {
  return `${sqlName(schema)}.${sqlName(table)}`;
}

async function inTransaction(session: Session, work: () => Promise<void>): Promise<void> {
  const { schema } = session;
  // What an earlier load has left has to be seen once its lock is had.
  await query(session, 'BEGIN ISOLATION LEVEL READ COMMITTED');
  try {
    await query(
      session,
      /*sql*/ `SELECT pg_advisory_xact_lock(hashtextextended(${sqlText(`analytics-mirror load ${schema}`)}, 0))`,
    );
    // A user that may not make schemas can use one that is there.
    const isThere = await query(session, /*sql*/ `SELECT nspname FROM pg_namespace WHERE nspname = ${sqlText(schema)}`);
    if (isThere.length === 0) await query(session, `CREATE SCHEMA ${sqlName(schema)}`);
    await query(session, `SET LOCAL work_mem = '128MB'`);
    await work();
    await query(session, 'COMMIT');
  } catch (error) {
    await session.client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** Only rows that differ are written: readers, indexes and the write-ahead log see no others. */
async function apply(session: Session, { table, plan, comment, present }: Change): Promise<void> {
  const { dataset, key, columns } = table;
  const name = nameIn(session.schema, dataset);
  if (present) await evolve(session, name, present, columns);
  else await query(session, `CREATE TABLE ${name} (${columns.map(definition).join(', ')})`);
  if (!present) await copy(session, name, columns, allRows(table));
  else if (plan.is === 'full') {
    const staged = await stage(session, `staged_${dataset}`, columns, allRows(table));
    const [own, other] = ['own', 'other'].map((of) => columns.map((one) => `${of}.${sqlName(one.name)}`).join(', '));
    const isSame = `own.${sqlName(key)} = other.${sqlName(key)} AND (${own}) IS NOT DISTINCT FROM (${other})`;
    const without = (of: string): string => `NOT EXISTS (SELECT FROM ${of} AS other WHERE ${isSame})`;
    await query(session, `DELETE FROM ${name} AS own WHERE ${without(staged)}`);
    await add(session, name, columns, `${staged} AS own WHERE ${without(name)}`);
  } else {
    const isKeyIn = (of: string): string => `${sqlName(key)} IN (SELECT ${sqlName(key)} FROM ${of})`;
    const left = goneAfter(table, plan.after);
    if (left !== null) {
      const gone = await stage(session, `gone_${dataset}`, [{ name: key, type: 'string' }], left);
      await query(session, `DELETE FROM ${name} WHERE ${isKeyIn(gone)}`);
    }
    const newer = rowsAfter(table, plan.after);
    if (newer !== null) {
      const staged = await stage(session, `staged_${dataset}`, columns, newer);
      await query(session, `DELETE FROM ${name} WHERE ${isKeyIn(staged)}`);
      await add(session, name, columns, staged);
    }
  }
  await query(session, `COMMENT ON TABLE ${name} IS ${sqlText(comment)}`);
}

/** Columns that each table of Postgres has. */
const systemColumns: readonly string[] = ['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid'];

function definition({ name, type }: LoadedColumn): string {
  // Postgres would cut it.
  const isLong = Buffer.byteLength(name) > 63;
  if (isLong || systemColumns.includes(name))
    throw usageError(
      `the column ${name} has a ${isLong ? 'longer name than Postgres allows (63 bytes)' : 'name that Postgres keeps for itself'}`,
      'give it another one (`as` in `export.promote`), and export',
    );
  return `${sqlName(name)} ${dialect.types[type]}`;
}

/** Gives a table the columns that are published. A column that has another type now is dropped and added again; the rows fill it. */
async function evolve(
  session: Session,
  name: string,
  { columns: present }: WarehouseTable,
  columns: readonly LoadedColumn[],
): Promise<void> {
  const wanted = new Map(columns.map((column) => [column.name, dialect.types[column.type]]));
  const old = [...present].filter(([column, type]) => wanted.get(column) !== type);
  const missing = columns.filter((column) => present.get(column.name) !== dialect.types[column.type]);
  const changes = [
    ...old.map(([column]) => `DROP COLUMN ${sqlName(column)}`),
    ...missing.map((column) => `ADD COLUMN ${definition(column)}`),
  ];
  if (changes.length > 0) await query(session, `ALTER TABLE ${name} ${changes.join(', ')}`);
}

/** Copies rows into a table that the end of the transaction drops, and returns its name. */
async function stage(session: Session, name: string, columns: readonly LoadedColumn[], rows: string): Promise<string> {
  const staged = `pg_temp.${sqlName(name)}`;
  // One that is loaded as a whole after its changes has been staged before.
  await query(session, `DROP TABLE IF EXISTS ${staged}`);
  await query(session, `CREATE TEMP TABLE ${sqlName(name)} (${columns.map(definition).join(', ')}) ON COMMIT DROP`);
  await copy(session, staged, columns, rows);
  // Without statistics, Postgres takes a table for small, and may compare each row with each.
  await query(session, `ANALYZE ${staged}`);
  return staged;
}

async function copy(session: Session, name: string, columns: readonly LoadedColumn[], rows: string): Promise<void> {
  const { client, reader, signal } = session;
  const { from } = createRequire(import.meta.url)('pg-copy-streams') as typeof CopyStreams;
  const list = columns.map((column) => sqlName(column.name)).join(', ');
  const lines = Readable.from(linesRead(reader, linesOf(columns, rows, dialect)), {
    objectMode: true,
    highWaterMark: 4,
  });
  await explained(session, () => pipeline(lines, client.query(from(`COPY ${name} (${list}) FROM STDIN`)), { signal }));
}

async function add(session: Session, name: string, columns: readonly LoadedColumn[], from: string): Promise<void> {
  const list = columns.map((column) => sqlName(column.name)).join(', ');
  await query(session, `INSERT INTO ${name} (${list}) SELECT ${list} FROM ${from}`);
}

async function query(session: Session, sql: string): Promise<string[][]> {
  return explained(session, async () => (await session.client.query<string[]>({ text: sql, rowMode: 'array' })).rows);
}

async function explained<T>({ signal, socket }: Pick<Session, 'signal' | 'socket'>, act: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  socket.setTimeout(silentMs);
  try {
    return await act();
  } catch (error) {
    signal.throwIfAborted();
    throw explainPostgres(error, { is: 'the warehouse', place: '--into, or MIRROR_WAREHOUSE_PASSWORD,' });
  } finally {
    socket.setTimeout(0);
  }
}
