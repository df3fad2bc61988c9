import { shallowJson } from '../core/deep-json.ts';
import { AppError } from '../core/errors.ts';
import { isJsonObject } from '../core/exact-json.ts';
import { isoToMicros } from '../core/time.ts';
import { datasets, type PagedDataset } from '../contract/datasets.ts';
import { rowReaders } from '../contract/row-readers.ts';
import { readEnvelope, type Envelope } from '../contract/tolerant-reader.ts';
import { KnownRow, type SentBytes } from '../mirror/fingerprints.ts';
import type { QuarantinedRow } from '../mirror/quarantine.ts';
import type { ShownRow } from '../mirror/write-rows.ts';
import { SentRow, unnamed } from './known-rows.ts';
import { placeUntimed, type PageView } from './seam.ts';
import type { Window } from './walk-state.ts';

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
  const sent: Page['sent'] = results.every(isByRow) ? new Map() : undefined;
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
      times: placeUntimed(times),
      received: results.length,
      isLast: isLastPage(envelope, window),
      nextOffset,
      count: count ?? null,
    },
  };
}

/** Whether a row comes of a page that was read row by row. */
function isByRow(result: unknown): boolean {
  return result instanceof KnownRow || result instanceof SentRow;
}

/** The sort time (microseconds) of a quarantined row; undefined if its time cannot be read either. */
function timeOfUnread(row: unknown, timeColumn: string): bigint | undefined {
  const time = isJsonObject(row) ? row[timeColumn] : undefined;
  return typeof time === 'string' ? isoToMicros(time) : undefined;
}

/** Whether the service says that no page follows. The length of a page does not tell. */
function isLastPage(envelope: Envelope, { offset, limit }: Window): boolean {
  if (typeof envelope.has_next === 'boolean') return !envelope.has_next;
  if (envelope.next !== undefined) return envelope.next === null;
  if (typeof envelope.count === 'number') return offset + limit >= envelope.count;
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
