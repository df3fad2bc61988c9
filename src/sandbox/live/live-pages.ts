import { z } from 'zod';
import { PageQuery } from '../../contract/endpoints.ts';
import { isoToMicros } from '../../core/time.ts';
import { jsonContent, type Content } from '../http/endpoint-handler.ts';
import { Refusal } from '../http/answer.ts';
import type { Window } from '../store/persons.ts';

const limitDefault = 100;
/** The address that a service behind a proxy takes for its own. */
const believedOrigin = 'https://analytics.internal.example';

/** The window that is served. A limit above the maximum is lowered silently. */
export function clampedWindow(
  { limit = limitDefault, offset = 0 }: { limit?: number | undefined; offset?: number | undefined },
  limitMax: number,
): Window {
  return { limit: Math.min(limit, limitMax), offset };
}

/**
 * A page of persons. It has no `count`. `next` is set if the window was full, with another host, scheme and prefix.
 * `previous` leads to this same page. `positions` counts ghosts too.
 */
export function livePersonPage(
  url: URL,
  { limit, offset }: Window,
  positions: number,
  results: readonly string[],
): Content {
  const link = (at: number): string => {
    const target = new URL(url.pathname.replace('/api/environments/', '/api/projects/'), believedOrigin);
    target.search = url.search;
    target.searchParams.set('limit', String(limit));
    target.searchParams.set('offset', String(at));
    return target.href;
  };
  const next = positions < limit ? null : link(offset + limit);
  const previous = offset > 0 ? link(offset) : null;
  return jsonContent(
    `{"next":${JSON.stringify(next)},"previous":${JSON.stringify(previous)},"results":[${results.join(',')}]}`,
  );
}

/** A page of recordings. It has neither `count` nor links. */
export function liveRecordingPage(results: readonly string[], hasNext: boolean): Content {
  return jsonContent(`{"results":[${results.join(',')}],"has_next":${hasNext},"version":4}`);
}

/** The query of the list of recordings; any other parameter is refused. */
export const LiveRecordingQuery = z.strictObject({ ...PageQuery.shape, date_from: z.string().optional() });

const daysDefault = 3;
const dayMs = 86_400_000;

/**
 * The earliest start of the listed recordings, in microseconds, from `-30d`, `-12h` or an ISO 8601 time. Throws a 400
 * for any other text.
 */
export function sinceMicros(dateFrom = `-${daysDefault}d`, nowMs: number): number {
  const [, count, unit] = /^-(\d{1,5})([dh])$/.exec(dateFrom) ?? [];
  if (count !== undefined) return (nowMs - Number(count) * (unit === 'd' ? dayMs : dayMs / 24)) * 1000;
  const micros = isoToMicros(/^\d{4}-\d\d-\d\d$/.test(dateFrom) ? `${dateFrom}T00:00` : dateFrom);
  if (micros === undefined) throw new Refusal('invalidInput', 'Not a date.', 'date_from');
  return Number(micros);
}
