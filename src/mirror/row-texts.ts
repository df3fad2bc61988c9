import { isUtf8 } from 'node:buffer';
import type { Database } from 'better-sqlite3';
import { datasets, type DatasetField, type PublishedDataset } from '../contract/datasets.ts';
import { rowMarks, RowText } from '../contract/row-text.ts';
import type { Columns } from '../contract/tolerant-reader.ts';

/** The most rows of a text, as many as DuckDB takes at once, and the most bytes. */
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

/** The rows of a table of the mirror as they are sorted in files, several at a time. */
type RowTextTask = {
  db: Database;
  dataset: PublishedDataset;
  table: string;
  /** No text holds rows of two parts: one ends after each so many rows. */
  partRows: number;
};

/**
 * Reads all rows of a table as texts, which SQLite joins: that costs a third of reading them value by value. Rows that a text
 * could not be split into again are read one by one (integers as bigint): rows with control characters, with lists that have
 * a character by its number (`\u`), or with bytes that are no UTF-8; and large rows, with those beside them.
 */
export function* readRowTexts({ db, dataset, table, partRows }: RowTextTask): Generator<RowText | Columns, void> {
  const fields = datasets[dataset].publishedFields;
  const names = fields.map(({ name }) => name).join(', ');
  const { sortedBy } = datasets[dataset];
  const order = sortedBy.join(', ');
  const place = sortedBy.join(` || char(0) || `);
  // Places as bytes: one that is no UTF-8 would become another one as a string. Its first value leads to the row by the index.
  const after = (last: Buffer | undefined): string =>
    last ? /*sql*/ `WHERE ${sortedBy[0]} >= CAST(@first AS TEXT) AND ${place} > CAST(@last AS TEXT)` : '';
  const line = fields.map((field) => textOf(field)).join(` || char(${marks.field}) || `);
  const size = fields.map(sizeOf).join(' + ');
  // A line that is too long is neither made nor joined, and only noted.
  const textAfter = (last: Buffer | undefined): string => /*sql*/ `SELECT count(*) AS rows, max(size) AS longest,
      max(is_odd) AS isOdd, CAST(max(place) AS BLOB) AS last, CAST(group_concat(line, char(${marks.row})) AS BLOB) AS bytes
    FROM (SELECT ${size} AS size, CASE WHEN ${size} < @lineMax THEN ${line} END AS line,
        ${place} AS place, CASE WHEN ${size} < @lineMax THEN ${fields.flatMap(oddOf).join(' OR ')} END AS is_odd
      FROM ${table} ${after(last)} ORDER BY ${order} LIMIT @limit)`;
  const rowsAfter = (last: Buffer | undefined): string =>
    /*sql*/ `SELECT ${names} FROM ${table} ${after(last)} ORDER BY ${order} LIMIT @limit`;
  const places = sortedBy.map((name) => fields.findIndex((field) => field.name === name));
  let last: Buffer | undefined;
  let read = db.prepare<Reading & { lineMax: number }, JoinedRows>(textAfter(last));
  let textRows = textRowsMax;
  // A text that was too large was read for nothing: from as many rows as it could have had, the next ones grow slowly.
  let surelyFit = textRowsMax;
  for (let taken = 0; ;) {
    const leftInPart = partRows - (taken % partRows);
    const limit = Math.min(textRows, leftInPart);
    const lineMax = Math.floor(textBytesMax / limit);
    const from = last && { last, first: last.subarray(0, last.indexOf(0) === -1 ? last.length : last.indexOf(0)) };
    const joined = read.get({ limit, lineMax, ...from });
    if (!joined?.last) return;
    const fitting = Math.floor(textBytesMax / (joined.longest + 1));
    if (fitting < limit && fitting >= textRowsMin) {
      textRows = surelyFit = fitting;
      continue;
    }
    const text = fitting < limit || joined.isOdd === 1 ? undefined : splittable(joined, fields.length, places);
    if (text) yield text;
    else {
      const rows = db.prepare<Reading, Columns>(rowsAfter(last)).safeIntegers();
      yield* rows.iterate({ limit, ...from });
    }
    const grown = textRows < surelyFit ? Math.min(surelyFit, textRows * 2) : textRows + Math.ceil(textRows / 16);
    textRows = fitting < limit ? textRowsMin : Math.min(textRowsMax, grown);
    if (!last) read = db.prepare(textAfter(joined.last));
    last = joined.last;
    taken += joined.rows;
  }
}

type Reading = { limit: number; last?: Buffer; first?: Buffer };
type JoinedRows = { rows: number; longest: number; isOdd: 0 | 1 | null; last: Buffer | null; bytes: Buffer };

/** SQL: a field of a row as text. A number has as many digits as it takes to read it back exactly. */
function textOf({ name, kind }: DatasetField): string {
  const none = /*sql*/ `char(${marks.none})`;
  if (kind !== 'real') return /*sql*/ `coalesce(${name}, ${none})`;
  // `format` makes 0.0 of null.
  return /*sql*/ `CASE WHEN ${name} IS NULL THEN ${none} ELSE format('%!.17g', ${name}) END`;
}

function isNumber(kind: DatasetField['kind']): boolean {
  return kind === 'integer' || kind === 'integer_id' || kind === 'real' || kind === 'boolean';
}

/** SQL: at least as many bytes as a field has in a line, with the mark behind it. */
function sizeOf({ name, kind }: DatasetField): string {
  if (isNumber(kind)) return '32';
  return /*sql*/ `coalesce(octet_length(${name}), 1) + 1`;
}

/** SQL: the conditions under which a field makes its row one that must be read value by value. */
function oddOf({ name, kind }: DatasetField): string[] {
  if (kind === 'time') return [/*sql*/ `${name} NOT GLOB ${plainTime}`];
  if (isNumber(kind)) return [];
  const isNone = /*sql*/ `${name} = char(${marks.none})`;
  // DuckDB reads the escapes of JSON, but refuses one half of a surrogate pair.
  return kind === 'text_list' ? [isNone, /*sql*/ `instr(${name}, '\\u') > 0`] : [isNone];
}

/**
 * The text, if it can be split into exactly the rows that it was made of: a mark within a field would be one mark too many. Rows that
 * are not sorted by the fields at `places` are none of them.
 */
function splittable({ bytes, rows }: JoinedRows, fields: number, places: readonly number[]): RowText | undefined {
  if (!isUtf8(bytes)) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const textsOf = (spans: readonly Span[]): string[] =>
    places.map((place) => bytes.toString('utf8', spans[place]?.start, spans[place]?.end));
  const compared = Math.max(...places) + 1;
  const spans = (): Span[] => Array.from({ length: compared }, () => ({ start: 0, end: 0 }));
  let [row, last] = [spans(), spans()];
  let first: string[] = [];
  let rowsFound = 0;
  let field = 0;
  for (let at = -1; at < bytes.length;) {
    at = nextControl(view, at + 1);
    const mark = at < bytes.length ? bytes[at] : marks.row;
    if (mark !== marks.field && mark !== marks.row) continue;
    const span = row[field];
    if (span) span.end = at;
    if (mark === marks.field) {
      field += 1;
      const next = row[field];
      if (next) next.start = at + 1;
      continue;
    }
    if (field !== fields - 1) return undefined;
    if (rowsFound === 0) first = textsOf(row);
    else if (!areInOrder(bytes, last, row, places)) return undefined;
    rowsFound += 1;
    field = 0;
    [row, last] = [last, row];
    if (row[0]) row[0].start = at + 1;
  }
  if (rowsFound !== rows) return undefined;
  return new RowText(bytes, { rows, first, last: textsOf(last) });
}

/** Whether one row comes before another, by the fields at `places`. */
function areInOrder(bytes: Buffer, one: readonly Span[], other: readonly Span[], places: readonly number[]): boolean {
  for (const place of places) {
    const [a, b] = [one[place], other[place]];
    if (!a || !b) return false;
    if (isBefore(bytes, a, b)) return true;
    if (isBefore(bytes, b, a)) return false;
  }
  return false;
}

/** Where the next control character stands, or the end. Four bytes are looked at in one: a text has few of them. */
function nextControl(view: DataView, from: number): number {
  const end = view.byteLength;
  let at = from;
  for (; at + 4 <= end; at += 4) {
    const four = view.getInt32(at);
    // Below 0x20, a byte becomes negative, and was not.
    if (((four - 0x20202020) & ~four & 0x80808080) !== 0) break;
  }
  while (at < end && view.getUint8(at) >= 0x20) at += 1;
  return at;
}

type Span = { start: number; end: number };

/** Whether some of the bytes come before others, in byte order. Neighbours differ early, so no call to compare them is worth it. */
function isBefore(bytes: Buffer, one: Span, other: Span): boolean {
  let at = one.start;
  let otherAt = other.start;
  while (at < one.end && otherAt < other.end && bytes[at] === bytes[otherAt]) {
    at += 1;
    otherAt += 1;
  }
  if (at === one.end || otherAt === other.end) return at === one.end && otherAt < other.end;
  return (bytes[at] ?? 0) < (bytes[otherAt] ?? 0);
}
