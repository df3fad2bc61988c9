import type { DuckDBConnection } from '@duckdb/node-api';
import { measureFile, sha256File } from '../core/digest.ts';
import { AppError } from '../core/errors.ts';
import { checkPartRows, damagedPart, type PublishedPart } from './published-parts.ts';
import { publishedShapes } from './columns.ts';
import { parquetRows, sqlName, sqlText } from './duckdb.ts';
import type { Manifest, ManifestFile } from './manifest.ts';
import { copyOptions } from './parquet-file.ts';
import { markedParts, readMarks, trimFunction, trimmedColumn } from './mark-rows.ts';

/**
 * How rows change. `prepare` is called once a connection, then `mark`, to mark the rows to change in some parts. `subjects`: how many
 * own them.
 */
export type RowChange = {
  subjects: number;
  prepare: (connection: DuckDBConnection) => void;
  mark: (connection: DuckDBConnection, paths: readonly string[]) => Promise<void>;
};

/** A part, and its number among those whose rows are marked together. */
export type MarkedPart = PublishedPart & { number: number };

/** A part that was encoded again, which of its rows were removed, by their places, and how many of each subject. */
export type EncodedPart = {
  file: ManifestFile;
  removed: readonly number[];
  removedOf: readonly number[];
  /** Whether rows of others were trimmed. */
  isTrimmed: boolean;
};

/** A part that had the same bytes, encoded again without the same rows. `copyTo` copies what it has become. */
export type Twin = EncodedPart & { copyTo: (path: string) => void };

/** Throws `storage` where a part differs from what was published. */
export async function checkParts(connection: DuckDBConnection, parts: readonly PublishedPart[]): Promise<void> {
  for (const part of parts)
    if ((await sha256File(part.path)) !== part.sha256)
      throw damagedPart(part, 'is damaged (its SHA-256 is not that of its manifest)');
  await checkPartRows(connection, parts);
}

/**
 * Encodes a part again at `to`, without its marked rows, from its plain values: no page, dictionary or bound is copied. Then reads the
 * new part back and checks it: it has the rows that should be left, in the same order, each equal in every column (a 64-bit hash of
 * each, summed; except the trimmed values). Throws DuckDB's error. Does not fsync. A part with a twin gets a copy of it.
 */
export async function encodePart(
  connection: DuckDBConnection,
  part: MarkedPart,
  columns: Manifest['columns'],
  to: { name: string; path: string },
  subjects: number,
  twin?: Twin,
): Promise<EncodedPart> {
  if (twin && twin.file.rows + twin.removed.length === part.rows) {
    twin.copyTo(to.path);
    const copy = { ...twin.file, name: to.name, ...(await measureFile(to.path)) };
    if (copy.sha256 === twin.file.sha256) return { ...twin, file: copy };
  }
  const { rows: removed, rowsOf: removedOf, trimmed } = await readMarks(connection, part.number, subjects);
  const trimmedName = trimmedColumn(part.dataset);
  const key = publishedShapes[part.dataset].key.name;
  const own = `file = ${part.number}`;
  const nameOf = ({ name }: { name: string }): string =>
    name === trimmedName && trimmed > 0
      ? `CASE WHEN ${sqlName(key)} IN (SELECT key FROM trimmed WHERE ${own}) THEN NULL ELSE ${sqlName(name)} END`
      : sqlName(name);
  const compared = columns.map(nameOf).join(', ');
  const kept = trimmed === 0 || trimmedName === undefined ? '*' : `* REPLACE (${trimSql(trimmedName, own)})`;
  const left = `${parquetRows([part.path])} AS part
    ANTI JOIN (SELECT row FROM gone WHERE ${own}) AS gone ON part.file_row_number = gone.row`;
  const { print: before } = await printRows(connection, left, compared);
  await connection.run(`COPY (SELECT ${kept} FROM ${left}) TO ${sqlText(to.path)} ${copyOptions(columns)}`);
  const { print: after, rows } = await printRows(connection, parquetRows([to.path]), compared);
  if (rows !== part.rows - removed.length || before !== after)
    throw refused(part, 'would not hold exactly the rows that should stay');
  const file: ManifestFile = { name: to.name, rows, ...(await measureFile(to.path)) };
  return { file, removed, removedOf, isTrimmed: trimmed > 0 };
}

/**
 * Throws where parts that were encoded again still hold rows that should be removed. Marks them: to be called last. A row that stays as
 * it was is not marked, so that only trimmed parts need it.
 */
export async function refuseMarked(
  connection: DuckDBConnection,
  mark: RowChange['mark'],
  encoded: readonly { part: PublishedPart; path: string }[],
): Promise<void> {
  if (encoded.length === 0) return;
  await mark(
    connection,
    encoded.map(({ path }) => path),
  );
  for (const number of await markedParts(connection)) {
    const { part } = encoded[number] ?? {};
    if (part) throw refused(part, 'would still hold rows that should be removed');
  }
}

function trimSql(column: string, own: string): string {
  const name = sqlName(column);
  return `CASE WHEN file_row_number IN (SELECT row FROM trimmed WHERE ${own}) THEN ${trimFunction}(${name}) ELSE ${name} END AS ${name}`;
}

function refused({ dataset, snapshotId, name }: PublishedPart, what: string): AppError {
  return new AppError(`the published file ${dataset}/${snapshotId}/${name}, encoded again, ${what}`, {
    code: 'storage',
    hint: 'nothing was changed; this is an error of this program: report it',
  });
}

/**
 * Counts rows. `print`: their number and the sum of hashes of what is compared of each row, with its place among them. It is the same
 * as long as the rows and their order are the same.
 */
async function printRows(
  connection: DuckDBConnection,
  from: string,
  compared: string,
): Promise<{ print: string; rows: number }> {
  // On the connection's one thread, rows are numbered in the order of the file.
  const found = await connection.runAndReadAll(`SELECT count(*), sum(hash("row place", ${compared}))
    FROM (SELECT *, row_number() OVER () AS "row place" FROM ${from})`);
  const [sums] = found.getRows();
  return { print: String(sums), rows: Number(sums?.[0]) };
}
