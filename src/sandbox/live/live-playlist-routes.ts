import { endpoints } from '../../contract/endpoints.ts';
import { Refusal } from '../http/answer.ts';
import { jsonContent, type Content } from '../http/endpoint-handler.ts';
import { route, type Route } from '../http/profile.ts';
import type { LiveOptions } from './live-data.ts';
import { livePlaylistJson } from './live-rows.ts';
import { keysRefused, liveRecordingPage, refuseUnroutable, shownRecording } from './live-recording-routes.ts';

/** The routes of section 4.3 in which a live service differs from the document. */
export function livePlaylistRoutes(options: LiveOptions): Route[] {
  const { playlistRecordingsMax, playlistEntriesForKeys } = options;
  const entries = endpoints['playlists.recordings'];
  const entry = endpoints['playlists.remove_recording'];
  const refuseKeys = (): void => {
    if (!playlistEntriesForKeys) throw new Refusal('permissionDenied', keysRefused);
  };
  return [
    route('playlists.retrieve', endpoints['playlists.retrieve'], ({ params }, { store }) =>
      playlist(store.playlists.find(params.short_id)),
    ),

    route('playlists.update', endpoints['playlists.update'], ({ params, body }, { store, change }) =>
      playlist(store.playlists.update(params.short_id, body, change)),
    ),

    route('playlists.recordings', { ...entries, scope: entries.liveScope }, ({ params }, call) => {
      refuseKeys();
      const { store } = call;
      playlist(store.playlists.find(params.short_id));
      const documents = store.playlists.memberDocuments(params.short_id);
      return liveRecordingPage(
        documents.slice(0, playlistRecordingsMax).map((document) => shownRecording(document, call, options)),
        documents.length > playlistRecordingsMax,
      );
    }),

    route('playlists.remove_recording', { ...entry, scope: entry.liveScope, status: 200 }, ({ params }, { store }) => {
      refuseKeys();
      refuseUnroutable(params.session_recording_id);
      playlist(store.playlists.find(params.short_id));
      if (!store.playlists.removeRecording(params.short_id, params.session_recording_id))
        throw new Refusal('serverError', 'A server error occurred.');
      return jsonContent('{"success":true}');
    }),
  ];
}

function playlist(text: string | undefined): Content {
  return jsonContent(livePlaylistJson(jsonContent(text).text));
}
