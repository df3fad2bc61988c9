import { z } from 'zod';
import { endpoints, PageQuery } from '../../contract/endpoints.ts';
import { optionalEndpoints } from '../../contract/optional-endpoints.ts';
import { isoToMicros } from '../../core/time.ts';
import { notFound, Refusal } from '../http/answer.ts';
import { jsonContent, type Call, type Content } from '../http/endpoint-handler.ts';
import { route, type Route } from '../http/profile.ts';
import { clampedWindow, type LiveOptions } from './live-data.ts';
import { liveRecordingJson, missingPersonJson, recordedPersonJson } from './live-rows.ts';

/** The query of the list of recordings; any other parameter is refused. */
const LiveRecordingQuery = z.strictObject({ ...PageQuery.shape, date_from: z.string().optional() });

const limitDefault = 50;

/** The words for a call that the service makes for its own pages, and for no key. */
export const keysRefused = 'This action does not support personal API key access';

/** The routes of section 4.4 in which a live service differs from the document. */
export function liveRecordingRoutes(options: LiveOptions): Route[] {
  return [
    // They come first, because `/session_recordings/:id` matches their path too.
    ...deletionRoutes(options),

    route('recordings.list', { ...endpoints['recordings.list'], query: LiveRecordingQuery }, ({ query }, call) => {
      const { store, change } = call;
      const { limit, offset } = clampedWindow(query, limitDefault, options.recordingsLimitMax);
      const since = sinceMicros(query.date_from, change.atMs);
      const { rows } = store.ghosts.recordings({ limit, offset }, since);
      const { positions: following } = store.ghosts.recordings({ limit: 1, offset: offset + limit }, since);
      return liveRecordingPage(
        rows.map((document) => shownRecording(document, call, options)),
        following > 0,
      );
    }),

    route('recordings.retrieve', endpoints['recordings.retrieve'], ({ params }, call) => {
      const { text } = jsonContent(call.store.recordings.find(params.id));
      return jsonContent(shownRecording(text, call, options));
    }),
  ];
}

/**
 * Recordings are deleted by their id, at once. Where the service does not do it, the method is not allowed. The call for many
 * is there for every caller but keys, unless an option says otherwise.
 */
function deletionRoutes({ deletesRecordings, bulkDeletesRecordings }: LiveOptions): Route[] {
  if (!deletesRecordings) return [];
  return [
    route('recordings.bulk_delete', optionalEndpoints['recordings.bulk_delete'], ({ body }, { store }) => {
      if (!bulkDeletesRecordings) throw new Refusal('permissionDenied', keysRefused);
      const { session_recording_ids: ids } = body;
      const deleted = ids.filter((id) => store.recordings.delete(id)).length;
      return jsonContent(`{"success":true,"deleted_count":${deleted},"total_requested":${ids.length}}`);
    }),

    route('recordings.delete', optionalEndpoints['recordings.delete'], ({ params }, { store }) => {
      refuseUnroutable(params.id);
      if (!store.recordings.delete(params.id)) throw notFound();
    }),
  ];
}

/** A recording as it is shown, with the person that has its distinct id now. */
export function shownRecording(
  document: string,
  { store, change, projects: [project] }: Call,
  { retentionDays }: Pick<LiveOptions, 'retentionDays'>,
): string {
  const { distinct_id: distinctId } = JSON.parse(document) as { distinct_id: string };
  const person = store.lifecycle.ownerOf(distinctId);
  const shown = person ? recordedPersonJson(person) : missingPersonJson(distinctId, project?.id ?? '');
  return liveRecordingJson(document, shown, { atMs: change.atMs, retentionDays });
}

/** No route matches an id with one of these characters. */
export function refuseUnroutable(id: string): void {
  if (/[/.]/.test(id)) throw notFound();
}

/** A page of recordings. It has neither `count` nor links. */
export function liveRecordingPage(results: readonly string[], hasNext: boolean): Content {
  return jsonContent(`{"results":[${results.join(',')}],"has_next":${hasNext},"version":4}`);
}

const daysDefault = 3;
const dayMs = 86_400_000;

/**
 * The earliest start of the listed recordings, in microseconds, from `-30d`, `-12h` or an ISO 8601 time. Throws a 400
 * for any other text.
 */
function sinceMicros(dateFrom = `-${daysDefault}d`, nowMs: number): number {
  const [, count, unit] = /^-(\d{1,5})([dh])$/.exec(dateFrom) ?? [];
  if (count !== undefined) return (nowMs - Number(count) * (unit === 'd' ? dayMs : dayMs / 24)) * 1000;
  const micros = isoToMicros(/^\d{4}-\d\d-\d\d$/.test(dateFrom) ? `${dateFrom}T00:00` : dateFrom);
  if (micros === undefined) throw new Refusal('invalidInput', 'Not a date.', 'date_from');
  return Number(micros);
}
