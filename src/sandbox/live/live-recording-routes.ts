import { z } from 'zod';
import { endpoints, PageQuery } from '../../contract/endpoints.ts';
import { isoToMicros } from '../../core/time.ts';
import { Refusal } from '../http/answer.ts';
import { jsonContent, type Content, type Project } from '../http/endpoint-handler.ts';
import { route, type Route } from '../http/profile.ts';
import type { Store } from '../store/store.ts';
import { clampedWindow, type LiveOptions } from './live-data.ts';
import { livePlaylistJson, liveRecordingJson, missingPersonJson, recordedPersonJson } from './live-rows.ts';

/** The query of the list of recordings; any other parameter is refused. */
const LiveRecordingQuery = z.strictObject({ ...PageQuery.shape, date_from: z.string().optional() });

const limitDefault = 50;

/** The routes of sections 4.3 and 4.4 in which a live service differs from the document. */
export function liveRecordingRoutes({ recordingsLimitMax }: LiveOptions): Route[] {
  return [
    route(
      'recordings.list',
      { ...endpoints['recordings.list'], query: LiveRecordingQuery },
      ({ query }, { store, change, projects }) => {
        const { limit, offset } = clampedWindow(query, limitDefault, recordingsLimitMax);
        const since = sinceMicros(query.date_from, change.atMs);
        const { rows } = store.ghosts.recordings({ limit, offset }, since);
        const { positions: following } = store.ghosts.recordings({ limit: 1, offset: offset + limit }, since);
        return liveRecordingPage(
          rows.map((document) => shown(document, store, projects)),
          following > 0,
        );
      },
    ),

    route('recordings.retrieve', endpoints['recordings.retrieve'], ({ params }, { store, projects }) => {
      const { text } = jsonContent(store.recordings.find(params.id));
      return jsonContent(shown(text, store, projects));
    }),

    route('playlists.retrieve', endpoints['playlists.retrieve'], ({ params }, { store }) =>
      playlist(store.playlists.find(params.short_id)),
    ),

    route('playlists.update', endpoints['playlists.update'], ({ params, body }, { store, change }) =>
      playlist(store.playlists.update(params.short_id, body, change)),
    ),

    route('playlists.recordings', endpoints['playlists.recordings'], ({ params }, { store, projects }) => {
      playlist(store.playlists.find(params.short_id));
      const documents = store.playlists.memberDocuments(params.short_id);
      return liveRecordingPage(
        documents.map((document) => shown(document, store, projects)),
        false,
      );
    }),
  ];
}

/** The recording with the person that has its distinct id now. */
function shown(document: string, { lifecycle }: Store, [project]: readonly Project[]): string {
  const { distinct_id: distinctId } = JSON.parse(document) as { distinct_id: string };
  const person = lifecycle.ownerOf(distinctId);
  const missing = (): string => missingPersonJson(distinctId, lifecycle.formerOwnerOf(distinctId), project?.id ?? '');
  return liveRecordingJson(document, person ? recordedPersonJson(person) : missing());
}

function playlist(text: string | undefined): Content {
  return jsonContent(livePlaylistJson(jsonContent(text).text));
}

/** A page of recordings. It has neither `count` nor links. */
function liveRecordingPage(results: readonly string[], hasNext: boolean): Content {
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
