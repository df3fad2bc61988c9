import {
  findObjectEnd,
  parseRow,
  splitResults,
  type JsonBounds,
  type ObjectSpan,
  shallowJson,
} from '../core/deep-json.ts';
import { readWhole, type JsonReader } from '../client/service.ts';
import type { Database } from '../mirror/database.ts';
import { type FindKnown, type Fingerprints, KnownRow, type SentBytes } from '../mirror/fingerprints.ts';
import { prepareFindKey } from '../mirror/tables.ts';
import { type PageView, placeUntimed, seamStart } from './seam.ts';
import type { AcceptedPage, Window } from './walk-state.ts';
import { AppError } from '../core/errors.ts';
import { isJsonObject } from '../core/exact-json.ts';
import { isoToMicros } from '../core/time.ts';
import { datasets, type PagedDataset } from '../contract/datasets.ts';
import { rowReaders } from '../contract/row-readers.ts';
import { readEnvelope, type Envelope } from '../contract/tolerant-reader.ts';
import type { QuarantinedRow } from '../mirror/quarantine.ts';
import type { ShownRow } from '../mirror/write-rows.ts';

/**
 * A page that was read: the rows for the mirror, and the view by which the walk judges the page. `sent`: the bytes of the rows
 * that were read, unless the page was parsed whole.
 */
export type Page = {
  rows: ShownRow[];
  quarantined: QuarantinedRow[];
  sent: Map<ShownRow, SentBytes> | undefined;
  view: PageView;
};

/**
 * Reads the answer to a window. A row that cannot be read is quarantined; the view still holds it if its key can be read,
 * because it has a place in the list. Throws `service` for an answer that is not a page, or has more rows than the window or
 * `pageSize`: a service may keep to the usual page where fewer rows are asked for.
 */
export function readPage(body: unknown, window: Window, dataset: PagedDataset, pageSize = 0): Page {
  const { key: keyColumn, sortTime } = datasets[dataset];
  const read = rowReaders[dataset];
  const envelope = readEnvelope(body, Math.max(window.limit, pageSize));
  const { results, count } = envelope;
  const rows: Page['rows'] = [];
  const quarantined: QuarantinedRow[] = [];
  const keys: string[] = [];
  const times: (bigint | null | undefined)[] = [];
  const isByRow = results.every((result) => result instanceof KnownRow || result instanceof SentRow);
  const sent: Page['sent'] = isByRow ? new Map() : undefined;
  for (const result of results) {
    if (result instanceof KnownRow) {
      rows.push(result);
      keys.push(unnamed(result.rowKey));
      times.push(result.time);
      continue;
    }
    const value = result instanceof SentRow ? result.value : result;
    const row = read(value);
    if (row.ok) {
      const time = isoToMicros(String(row.columns[sortTime])) ?? null;
      rows.push(row.columns);
      keys.push(String(row.columns[keyColumn]));
      times.push(time);
      if (result instanceof SentRow)
        sent?.set(row.columns, { page: result.page, from: result.from, to: result.to, time });
      continue;
    }
    quarantined.push({ key: row.key, reason: row.reason, payload: shallowJson(value) });
    if (row.key === null) continue;
    keys.push(row.key);
    times.push(timeOfUnread(value, sortTime));
  }
  const nextOffset = offsetOf(envelope.next, window);
  return {
    rows,
    quarantined,
    sent,
    view: {
      keys,
      times: placeUntimed(withoutFew(times)),
      received: results.length,
      isLast: isLastPage(envelope, window),
      nextOffset,
      count: count ?? null,
    },
  };
}

/**
 * Times of rows, where no time at all (null) is as one that cannot be read, unless more than one row in ten has none: a list that is
 * sorted by something else is walked as one in no order.
 */
function withoutFew(times: readonly (bigint | null | undefined)[]): readonly (bigint | null | undefined)[] {
  const untimed = times.filter((time) => time === null).length;
  return untimed > 0 && untimed * 10 <= times.length ? times.map((time) => time ?? undefined) : times;
}

/** The sort time (microseconds) of a quarantined row; undefined if its time cannot be read either. */
function timeOfUnread(row: unknown, timeColumn: string): bigint | undefined {
  const time = isJsonObject(row) ? row[timeColumn] : undefined;
  return typeof time === 'string' ? isoToMicros(time) : undefined;
}

/**
 * Whether the service says that no page follows. The length of a page does not tell. Where `next` leads on beside a `has_next` that
 * is false, pages are asked for until one is empty. Where only a count tells, the first page has to show as many rows, since a
 * service may serve fewer than asked for; any later end is confirmed by one more window.
 */
function isLastPage(envelope: Envelope, { offset, limit }: Window): boolean {
  if (envelope.has_next === true) return false;
  if (envelope.has_next === false) return typeof envelope.next !== 'string' || envelope.results.length === 0;
  if (envelope.next !== undefined) return envelope.next === null;
  if (typeof envelope.count === 'number')
    return offset + limit >= envelope.count && (offset > 0 || envelope.results.length >= envelope.count);
  return envelope.results.length === 0;
}

/** The offset in `next`; its host is never used. Throws `service` for an offset that does not advance. */
function offsetOf(next: string | null | undefined, window: Window): number | null {
  if (typeof next !== 'string' || !URL.canParse(next, 'http://service.invalid')) return null;
  const text = new URL(next, 'http://service.invalid').searchParams.get('offset');
  if (text === null || !/^\d+$/.test(text)) return null;
  const offset = Number(text);
  if (offset <= window.offset)
    throw new AppError(
      `the service's next page (offset ${offset}) does not follow the one at offset ${window.offset}`,
      { code: 'service', hint: 'the list cannot be walked to its end; nothing was judged absent' },
    );
  return offset;
}

/** The surrogate key of a stored row. */
type FindRowKey = (key: string) => number | undefined;

/** A row of a page that was parsed, and the place of its bytes. */
class SentRow {
  readonly page: Buffer;
  readonly from: number;
  readonly to: number;
  readonly value: unknown;

  constructor(page: Buffer, from: number, to: number, value: unknown) {
    this.page = page;
    this.from = from;
    this.to = to;
    this.value = value;
  }
}

/**
 * Prepares the reader of a page whose unchanged rows are not parsed: `results` then holds each row as a `KnownRow` or a
 * `SentRow`. Whatever is unusual about a page is left to the reader of whole answers: all of its rows are then plain values.
 */
export function prepareReadRows(dataset: PagedDataset, fingerprints: Fingerprints, findRowKey: FindRowKey): JsonReader {
  const findNear = prepareFindNear(dataset, findRowKey);
  return (bytes, bounds) => {
    const page = readByRow(bytes, bounds, fingerprints.beginFind(), findNear());
    return page ?? readWhole(bytes, bounds);
  };
}

/** Undefined where the page is to be read whole. */
function readByRow(bytes: Buffer, bounds: JsonBounds, find: FindKnown, near: FindNear): object | undefined {
  const rows: unknown[] = [];
  const span: ObjectSpan = { to: 0, values: 0, isPlain: true };
  let values = 0;
  try {
    const envelope = splitResults(bytes, bounds, (_bytes, from) => {
      const known = near.expected === undefined ? undefined : find(bytes, from, near.expected);
      if (known) {
        near.wasKnown(known.rowKey);
        values += 1;
        rows.push(known);
        return values > bounds.jsonValuesMax ? undefined : known.to;
      }
      if (!findObjectEnd(bytes, from, bounds, span)) return undefined;
      values += span.values;
      if (values > bounds.jsonValuesMax) return undefined;
      const value = parseRow(bytes, from, span.to, span.isPlain, bounds.jsonDepthMax);
      near.wasRead(value);
      rows.push(new SentRow(bytes, from, span.to, value));
      return span.to;
    });
    return envelope && { ...envelope, results: rows };
  } catch {
    // The reader of whole answers says what is wrong.
    return undefined;
  }
}

/** Where the fingerprint of the next row is looked for. */
type FindNear = {
  /** The surrogate key that is most likely the next row's; undefined when nothing is known. */
  expected: number | undefined;
  wasKnown: (rowKey: number) => void;
  wasRead: (row: unknown) => void;
};

/**
 * Rows stand in the order of their surrogate keys, but for new ones. After a row that was read, the next one is mostly the one
 * behind it; after more of them, the row is looked up, in a long run of them only each sixteenth.
 */
function prepareFindNear(dataset: PagedDataset, findRowKey: FindRowKey): () => FindNear {
  const { key, fields } = datasets[dataset];
  const isUuid = fields.some(({ name, kind }) => name === key && kind === 'uuid');
  return () => {
    let readInARow = 0;
    const near: FindNear = {
      expected: undefined,
      wasKnown: (rowKey) => {
        readInARow = 0;
        near.expected = rowKey + 1;
      },
      wasRead: (row) => {
        readInARow += 1;
        if (near.expected !== undefined && readInARow === 1) {
          near.expected += 1;
          return;
        }
        if (readInARow > 4 && readInARow % 16 !== 0) return;
        const shown = isJsonObject(row) ? row[key] : undefined;
        const rowKey = typeof shown === 'string' ? findRowKey(isUuid ? shown.toLowerCase() : shown) : undefined;
        near.expected = rowKey === undefined ? undefined : rowKey + 1;
      },
    };
    return near;
  };
}

/** What stands in a view for the key of a known row, which was not read. No key begins like this. */
function unnamed(rowKey: number): string {
  return `\0${rowKey}`;
}

/**
 * Prepares what puts keys into a view wherever the walk compares them: at the rows of the page before, and at the last rows of
 * the page itself. Every other known row keeps its stand-in, which is equal to no key.
 */
export function prepareNameKnown(
  db: Database,
  dataset: PagedDataset,
  findRowKey: FindRowKey,
): (view: PageView, previous: AcceptedPage | null) => PageView {
  const findKey = prepareFindKey(db, dataset);
  // Most often, the page before is the one that was named last: no row gets another surrogate key while a pass is on.
  let namedLast = new Map<string, string>();
  return (view, previous) => {
    if (!view.keys.some(isUnnamed)) return view;
    const names = new Map<string, string>();
    for (const { key } of previous?.rows ?? []) {
      const rowKey = namedLast.has(key) ? undefined : findRowKey(key);
      const standIn = rowKey === undefined ? namedLast.get(key) : unnamed(rowKey);
      if (standIn !== undefined) names.set(standIn, key);
    }
    namedLast = new Map();
    for (const key of view.keys.slice(seamStart(view.times))) {
      if (!isUnnamed(key)) continue;
      const name = names.get(key) ?? findKey(Number(key.slice(1)));
      if (name === undefined) continue;
      names.set(key, name);
      namedLast.set(name, key);
    }
    return { ...view, keys: view.keys.map((key) => names.get(key) ?? key) };
  };
}

function isUnnamed(key: string): boolean {
  return key.startsWith('\0');
}
