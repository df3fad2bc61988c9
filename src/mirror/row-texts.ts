import { isUtf8 } from 'node:buffer';
import type { Database } from 'better-sqlite3';
import { datasets, type DatasetField, type PublishedDataset } from '../contract/datasets.ts';
import { rowMarks, RowText } from '../contract/row-text.ts';
import type { Columns } from '../contract/tolerant-reader.ts';

/** The most rows of a text, as many as DuckDB takes at once, and about the most bytes. */
const textRowsMax = 2048;
const textBytesMax = 8 * 1024 * 1024;
/** With fewer rows than this, a text costs more than its rows one by one. */
const textRowsMin = 32;

const marks = {
  row: rowMarks.row.charCodeAt(0),
  field: rowMarks.field.charCodeAt(0),
  none: rowMarks.none.charCodeAt(0),
};

/** SQL: a time as the mirror writes it, in a year and with digits that DuckDB reads alike. */
const plainTime = `'[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]*Z'`;

/** The rows of a table of the mirror in the order of their key, several at a time. */
type RowTextTask = {
  db: Database;
  dataset: PublishedDataset;
  table: string;
  /** No text holds rows of two parts: one ends after each so many rows. */
  partRows: number;
};

/**
 * Reads all rows of a table as texts, which SQLite joins: that costs a third of reading them value by value. Rows that a text
 * could not be split into again are read one by one (integers as bigint): rows with control characters, with lists that need
 * a backslash, or with bytes that are no UTF-8.
 */
export function* readRowTexts({ db, dataset, table, partRows }: RowTextTask): Generator<RowText | Columns, void> {
  const fields = datasets[dataset].publishedFields;
  const names = fields.map(({ name }) => name).join(', ');
  const [key = ''] = fields.map(({ name }) => name);
  const size = fields.map(({ name }) => `coalesce(octet_length(${name}), 1)`).join(' + ');
  const largest = db.prepare<[], number | null>(/*sql*/ `SELECT max(${size}) FROM ${table}`).pluck().get() ?? 1;
  const rowsMax = Math.min(textRowsMax, Math.floor(textBytesMax / largest));
  // The key as bytes: a key that is no UTF-8 would become another one as a string.
  const after = (last: Buffer | undefined): string => (last ? /*sql*/ `WHERE ${key} > CAST(@last AS TEXT)` : '');
  const rowsAfter = (last: Buffer | undefined): string =>
    /*sql*/ `SELECT ${names} FROM ${table} ${after(last)} ORDER BY ${key} LIMIT @limit`;
  if (rowsMax < textRowsMin) {
    yield* db.prepare<{ limit: number }, Columns>(rowsAfter(undefined)).safeIntegers().iterate({ limit: -1 });
    return;
  }
  const line = fields.map((field) => textOf(field)).join(` || char(${marks.field}) || `);
  const textAfter = (last: Buffer | undefined): string => /*sql*/ `SELECT count(*) AS rows, sum(nulls) AS nulls,
      max(is_odd) AS isOdd, CAST(max(last_key) AS BLOB) AS last, CAST(group_concat(line, char(${marks.row})) AS BLOB) AS bytes
    FROM (SELECT ${line} AS line, ${key} AS last_key,
        ${fields.map(({ name }) => `(${name} IS NULL)`).join(' + ')} AS nulls,
        ${fields.flatMap(oddOf).join(' OR ') || '0'} AS is_odd
      FROM ${table} ${after(last)} ORDER BY ${key} LIMIT @limit)`;
  let last: Buffer | undefined;
  let read = db.prepare<Reading, JoinedRows>(textAfter(last));
  for (let taken = 0; ;) {
    const limit = Math.min(rowsMax, partRows - (taken % partRows));
    const joined = read.get(last ? { limit, last } : { limit });
    if (!joined?.last) return;
    const text = joined.isOdd === 1 ? undefined : splittable(joined, fields.length);
    if (text) yield text;
    else {
      const rows = db.prepare<Reading, Columns>(rowsAfter(last)).safeIntegers();
      yield* rows.iterate(last ? { limit, last } : { limit });
    }
    if (!last) read = db.prepare(textAfter(joined.last));
    last = joined.last;
    taken += joined.rows;
  }
}

type Reading = { limit: number; last?: Buffer };
type JoinedRows = { rows: number; nulls: number; isOdd: 0 | 1 | null; last: Buffer | null; bytes: Buffer };

/** SQL: a field of a row as text. A number has as many digits as it takes to read it back exactly. */
function textOf({ name, kind }: DatasetField): string {
  const none = /*sql*/ `char(${marks.none})`;
  if (kind !== 'real') return /*sql*/ `coalesce(${name}, ${none})`;
  // `format` makes 0.0 of null.
  return /*sql*/ `CASE WHEN ${name} IS NULL THEN ${none} ELSE format('%!.17g', ${name}) END`;
}

/** SQL: the conditions under which a field makes its row one that must be read value by value. */
function oddOf({ name, kind }: DatasetField): string[] {
  if (kind === 'time') return [/*sql*/ `${name} NOT GLOB ${plainTime}`];
  return kind === 'text_list' ? [/*sql*/ `instr(${name}, '\\') > 0`] : [];
}

/**
 * The text, if it can be split into exactly the rows that it was made of: a mark within a field would be one mark too many.
 * Throws where rows are not in ascending order of the key.
 */
function splittable({ bytes, rows, nulls }: JoinedRows, fields: number): RowText | undefined {
  if (!isUtf8(bytes) || countOf(bytes, marks.none) !== nulls) return undefined;
  if (countOf(bytes, marks.row) !== rows - 1 || countOf(bytes, marks.field) !== rows * (fields - 1)) return undefined;
  let keyStart = 0;
  let keyEnd = bytes.indexOf(marks.field);
  for (let at = bytes.indexOf(marks.row); at !== -1; at = bytes.indexOf(marks.row, at + 1)) {
    const end = bytes.indexOf(marks.field, at);
    if (bytes.compare(bytes, keyStart, keyEnd, at + 1, end) <= 0) throw new Error('rows out of key order');
    keyStart = at + 1;
    keyEnd = end;
  }
  return new RowText(bytes, {
    rows,
    firstKey: bytes.toString('utf8', 0, bytes.indexOf(marks.field)),
    lastKey: bytes.toString('utf8', keyStart, keyEnd),
  });
}

function countOf(bytes: Buffer, mark: number): number {
  let count = 0;
  for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at + 1)) count += 1;
  return count;
}
