import { endpoints } from '../../contract/endpoints.ts';
import { jsonContent, type Content } from '../http/endpoint-handler.ts';
import { route, type Route } from '../http/profile.ts';
import type { Store } from '../store/store.ts';
import type { LiveOptions } from './live-data.ts';
import { clampedWindow, LiveRecordingQuery, liveRecordingPage, sinceMicros } from './live-pages.ts';
import { livePlaylistJson, liveRecordingJson } from './live-rows.ts';

/** The routes of sections 4.3 and 4.4 in which a live service differs from the document. */
export function liveRecordingRoutes({ recordingsLimitMax }: LiveOptions): Route[] {
  return [
    route(
      'recordings.list',
      { ...endpoints['recordings.list'], query: LiveRecordingQuery },
      ({ query }, { store, change }) => {
        const { limit, offset } = clampedWindow(query, recordingsLimitMax);
        const since = sinceMicros(query.date_from, change.atMs);
        const { rows } = store.ghosts.recordings({ limit, offset }, since);
        const { positions: following } = store.ghosts.recordings({ limit: 1, offset: offset + limit }, since);
        return liveRecordingPage(
          rows.map((document) => shown(document, store)),
          following > 0,
        );
      },
    ),

    route('recordings.retrieve', endpoints['recordings.retrieve'], ({ params }, { store }) => {
      const { text } = jsonContent(store.recordings.find(params.id));
      return jsonContent(shown(text, store));
    }),

    route('playlists.retrieve', endpoints['playlists.retrieve'], ({ params }, { store }) =>
      playlist(store.playlists.find(params.short_id)),
    ),

    route('playlists.update', endpoints['playlists.update'], ({ params, body }, { store, change }) =>
      playlist(store.playlists.update(params.short_id, body, change)),
    ),

    route('playlists.recordings', endpoints['playlists.recordings'], ({ params }, { store }) => {
      playlist(store.playlists.find(params.short_id));
      const documents = store.playlists.memberDocuments(params.short_id);
      return liveRecordingPage(
        documents.map((document) => shown(document, store)),
        false,
      );
    }),
  ];
}

function shown(document: string, { lifecycle }: Store): string {
  const { distinct_id: distinctId } = JSON.parse(document) as { distinct_id: string };
  return liveRecordingJson(document, lifecycle.ownerOf(distinctId));
}

function playlist(text: string | undefined): Content {
  return jsonContent(livePlaylistJson(jsonContent(text).text));
}
