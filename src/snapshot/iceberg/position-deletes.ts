import type { DuckDBConnection } from '@duckdb/node-api';
import { loadTexts, parquetRows, sqlName, sqlText } from '../duckdb.ts';

/**
 * A part of a table: its path here, as readers see it, and as the table has named it until now. `isNew`: it is of the
 * newest of the published snapshots.
 */
export type TablePart = { local: string; path: string; oldPath: string; isNew: boolean };

/**
 * Which rows new files of deletes have. `superseded`: one file has those that the new parts and the keys that are gone replace, beside
 * what the files of until now have; null: each has what one of these has, moved where a rewrite has removed rows before them.
 */
export type DeletesTask = {
  parts: readonly TablePart[];
  /** The files of until now. */
  old: readonly string[];
  superseded: { key: string; gone: Iterable<string> } | null;
  /** Where the new files are written. */
  to: readonly string[];
};

/** Prepares the connection's record of the rows that a rewrite removes. */
export async function prepareRemovedRows(connection: DuckDBConnection): Promise<void> {
  await connection.run(`CREATE TEMP TABLE removed_rows (local VARCHAR, row BIGINT)`);
}

/** Notes the rows that were removed from a part, by their places. `local`: where the part without them is. */
export async function noteRemovedRows(
  connection: DuckDBConnection,
  local: string,
  rows: readonly number[],
): Promise<void> {
  const appender = await connection.createAppender('removed_rows');
  for (const row of rows) {
    appender.appendVarchar(local);
    appender.appendBigInt(BigInt(row));
    appender.endRow();
  }
  appender.closeSync();
}

/**
 * Writes files of rows in parts that a reader has to pass over. Returns how many rows each has; 0 writes no file. For a connection with
 * one thread.
 */
export async function writePositionDeletes(
  connection: DuckDBConnection,
  { parts, old, superseded, to }: DeletesTask,
): Promise<number[]> {
  // Iceberg wants the rows by path, then by place.
  const ordered = parts.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  await loadTexts(
    connection,
    'table_parts',
    ['place', 'local', 'old_path'],
    ordered.map(({ local, oldPath }, place) => [String(place), local, oldPath]),
  );
  await connection.run(`CREATE OR REPLACE TEMP TABLE passed_over (file INTEGER, place INTEGER, pos BIGINT)`);
  if (old.length > 0) await connection.run(superseded ? knownSql(old) : movedSql(old));
  if (superseded) await markSuperseded(connection, parts, superseded, old.length > 0);
  const counted = await connection.runAndReadAll(
    `SELECT file, count(*) FROM (SELECT DISTINCT * FROM passed_over) GROUP BY file`,
  );
  const rowsOf = new Map(counted.getRows().map(([file, rows]) => [Number(file), Number(rows)]));
  // Paths are put in after the order is made, which so takes little memory. A scan knows them as this program's in plain pages.
  const paths = ordered.map(({ path }) => sqlText(path)).join(', ');
  for (const file of rowsOf.keys())
    await connection.run(`COPY (SELECT [${paths}][place + 1] AS file_path, pos
        FROM (SELECT DISTINCT place, pos FROM passed_over WHERE file = ${file} ORDER BY place, pos))
      TO ${sqlText(to[file] ?? '')} (FORMAT parquet, COMPRESSION uncompressed, USE_TMP_FILE false,
        FIELD_IDS {file_path: 2147483546, pos: 2147483545})`);
  return to.map((_path, file) => rowsOf.get(file) ?? 0);
}

/** The rows that a reader passes over already. */
function knownSql(old: readonly string[]): string {
  return `CREATE OR REPLACE TEMP TABLE known_rows AS SELECT CAST(place AS INTEGER) AS place, pos FROM ${parquetRows(old)}
    JOIN table_parts ON file_path = old_path`;
}

function movedSql(old: readonly string[]): string {
  return `INSERT INTO passed_over SELECT file, place, pos - coalesce(before, 0)
    FROM (SELECT file_index AS file, CAST(place AS INTEGER) AS place, local, pos FROM ${parquetRows(old)}
      JOIN table_parts ON file_path = old_path) AS known
    ASOF LEFT JOIN (SELECT local, row, row_number() OVER (PARTITION BY local ORDER BY row) AS before
      FROM removed_rows) AS removed ON known.local = removed.local AND known.pos >= removed.row
    WHERE removed.row IS DISTINCT FROM known.pos`;
}

async function markSuperseded(
  connection: DuckDBConnection,
  parts: readonly TablePart[],
  { key, gone }: { key: string; gone: Iterable<string> },
  isBeside: boolean,
): Promise<void> {
  const rowsOf = (some: readonly TablePart[]): string => parquetRows(some.map(({ local }) => local));
  const [added, earlier] = [parts.filter(({ isNew }) => isNew), parts.filter(({ isNew }) => !isNew)];
  const rows = function* (): Generator<string[]> {
    for (const one of gone) yield [one];
  };
  await loadTexts(connection, 'gone_keys', ['key'], rows());
  await connection.run(`INSERT INTO gone_keys SELECT ${sqlName(key)} FROM ${rowsOf(added)}`);
  await connection.run(`INSERT INTO passed_over SELECT 0, CAST(place AS INTEGER), row
    FROM (SELECT filename AS local, file_row_number AS row FROM ${rowsOf(earlier)}
      WHERE ${sqlName(key)} IN (SELECT key FROM gone_keys)) JOIN table_parts USING (local)
    ${isBeside ? 'EXCEPT SELECT 0, place, pos FROM known_rows' : ''}`);
}
