import { randomBytes } from 'node:crypto';
import { post } from '../client/post.ts';
import { AppError, usageError } from '../core/errors.ts';
import type { WarehousePlace } from './address.ts';
import { dialects, linesOf, type LoadedColumn } from './dialect.ts';
import { linesRead, type Reader } from './duckdb-reader.ts';
import { allRows, goneAfter, rowsAfter } from './published.ts';
import { tablesOf, type Change, type Warehouse } from './warehouse.ts';

const dialect = dialects.clickhouse;
const timeoutMs = 600_000;
const bytesMax = 256_000_000;
/** Rows that are sent together, which are one part of a table until ClickHouse merges it. */
const partBytes = 1 << 24;
/**
 * Without them, an error can follow a good status, numbers are read with the last digit wrong, a column is taken for what is
 * selected under its name, and empty texts are read as nulls where a user's profile says so.
 */
const settings = {
  wait_end_of_query: '1',
  precise_float_parsing: '1',
  prefer_column_name_to_alias: '1',
  input_format_tsv_empty_as_default: '0',
};
/** Of the tables beside those that are loaded, while a load goes on. A kill leaves them: the next load drops them. */
const draftPattern = /^[a-z_]+__load_[0-9a-f]{12}(?:_[a-z]+)?$/;

/** A server, and the database of the tables. */
type Session = { address: URL; headers: Record<string, string>; schema: string; reader: Reader; signal: AbortSignal };

/** The warehouse in a server of ClickHouse. Opens nothing yet: each statement is one request. */
export function openClickHouse(
  { at, schema, password }: WarehousePlace,
  reader: Reader,
  signal: AbortSignal,
): Warehouse {
  const address = new URL(at);
  const headers = {
    ...(address.username === '' ? {} : { 'x-clickhouse-user': decodeURIComponent(address.username) }),
    ...(password === null ? {} : { 'x-clickhouse-key': password }),
  };
  address.username = '';
  const session: Session = { address, headers, schema, reader, signal };
  return {
    dialect,
    nameOf: (table) => nameIn(session, table),
    tables: async () =>
      tablesOf(
        await query(
          session,
          `SELECT t.name, t.comment, c.name, c.type FROM system.tables AS t LEFT JOIN system.columns AS c ON c.table = t.name AND c.database = t.database WHERE t.database = ${text(schema)}`,
        ),
      ),
    query: (sql) => query(session, sql),
    together: async (work) => {
      const isThere = await query(session, `SELECT name FROM system.databases WHERE name = ${text(schema)}`);
      if (isThere.length === 0) await send(session, `CREATE DATABASE ${dialect.name(schema)}`);
      await dropDrafts(session);
      await work();
    },
    apply: (change) => apply(session, change),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function nameIn({ schema }: Session, table: string): string {
  return `${dialect.name(schema)}.${dialect.name(table)}`;
}

/** Drops what loads have left that were killed, or that go on elsewhere: these fail then, and no table is mixed of two. */
async function dropDrafts(session: Session): Promise<void> {
  const tables = await query(session, `SELECT name FROM system.tables WHERE database = ${text(session.schema)}`);
  for (const [name = ''] of tables)
    if (draftPattern.test(name)) await send(session, `DROP TABLE IF EXISTS ${nameIn(session, name)} SYNC`);
}

/** Fills a new table beside the old one, whose name and comment it gets at once. The old one is gone at the end, with its files. */
async function apply(session: Session, { table, plan, comment, present }: Change): Promise<void> {
  const { dataset, key, columns } = table;
  const draft = `${dataset}__load_${randomBytes(6).toString('hex')}`;
  const [old, fresh] = [nameIn(session, dataset), nameIn(session, draft)];
  await create(session, draft, key, columns, comment);
  if (plan.is === 'full') await fill(session, draft, columns, allRows(table));
  else {
    const rows = rowsAfter(table, plan.after);
    if (rows !== null) await fill(session, draft, columns, rows);
    const gone = `${draft}_gone`;
    await create(session, gone, key, [{ name: key, type: 'string' }]);
    const left = goneAfter(table, plan.after);
    if (left !== null) await fill(session, gone, [{ name: key, type: 'string' }], left);
    const list = columns.map(({ name }) => dialect.name(name)).join(', ');
    const isKeyIn = (of: string): string => `${dialect.name(key)} IN (SELECT ${dialect.name(key)} FROM ${of})`;
    await send(
      session,
      `INSERT INTO ${fresh} (${list}) SELECT ${list} FROM ${old} WHERE NOT ${isKeyIn(nameIn(session, gone))} AND NOT ${isKeyIn(fresh)}`,
    );
  }
  await send(session, present ? `EXCHANGE TABLES ${fresh} AND ${old}` : `RENAME TABLE ${fresh} TO ${old}`);
  await dropDrafts(session);
}

async function create(
  session: Session,
  table: string,
  key: string,
  columns: readonly LoadedColumn[],
  comment = '',
): Promise<void> {
  const definitions = columns.map(({ name, type }) => {
    const nullable = dialect.types[type];
    return `${dialect.name(name)} ${name === key ? nullable.replace(/^Nullable\((.*)\)$/, '$1') : nullable}`;
  });
  await send(
    session,
    `CREATE TABLE ${nameIn(session, table)} (${definitions.join(', ')}) ENGINE = MergeTree ORDER BY ${dialect.name(key)} COMMENT ${text(comment)}`,
  );
}

async function fill(session: Session, table: string, columns: readonly LoadedColumn[], rows: string): Promise<void> {
  const list = columns.map(({ name }) => dialect.name(name)).join(', ');
  const sql = `INSERT INTO ${nameIn(session, table)} (${list}) FORMAT TabSeparated`;
  for await (const piece of linesRead(session.reader, linesOf(columns, rows, dialect), partBytes))
    await send(session, sql, piece);
}

/** A text as ClickHouse's SQL writes it. */
function text(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

async function query(session: Session, sql: string): Promise<string[][]> {
  const answer = await send(session, `${sql} FORMAT JSONCompactStringsEachRow`);
  return answer
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as string[]);
}

/** Sends a statement, with its data where it has some, and waits for its end. */
async function send({ address, headers, signal }: Session, sql: string, data?: Buffer): Promise<string> {
  const url = new URL(address);
  for (const [setting, value] of Object.entries(settings)) url.searchParams.set(setting, value);
  if (data !== undefined) url.searchParams.set('query', sql);
  const body = data ?? sql;
  const answer = await post(url.href, { body, type: 'text/plain', headers, timeoutMs, bytesMax }, signal).catch(
    (error: unknown): never => {
      if (!(error instanceof AppError)) throw error;
      throw new AppError(`the warehouse does not answer (${error.message})`, {
        code: 'unreachable',
        hint: 'see that it runs and can be reached; tables that were not exchanged yet are as they were',
        retryable: true,
      });
    },
  );
  const said = answer.body?.toString('utf8');
  if (answer.status === 200 && said !== undefined) return said;
  throw refused(answer.status, /^Code: (\d+)/.exec(said ?? '')?.[1]);
}

/** An answer that is an error. ClickHouse's own words are left out: they can quote a row. */
function refused(status: number, code: string | undefined): AppError {
  const told = code === undefined ? `status ${status}` : `code ${code}`;
  if (code === '516' || code === '497' || status === 401 || status === 403)
    return usageError(
      `the warehouse refuses this user, or what it does (${told})`,
      'check the user in the address, MIRROR_WAREHOUSE_PASSWORD, and its rights: CREATE, DROP, INSERT and SELECT in the database',
    );
  return new AppError(`the warehouse refuses a statement (${told})`, {
    code: 'storage',
    hint: "see system.query_log or ClickHouse's own log for its words; EXCHANGE needs a database of the engine Atomic",
  });
}
