import { notFound } from './answer.ts';
import { jsonContent, type EndpointHandlers } from './endpoint-handler.ts';
import { listPage, windowOf } from './list-page.ts';
import { personHandlers } from './person-handlers.ts';

/** Every endpoint's handler. A missing one does not compile. */
export const endpointHandlers: EndpointHandlers = {
  ...personHandlers,

  'insights.trend': ({ body }, { store, change }) => store.insights.add(body, change),

  'playlists.retrieve': ({ params }, { store }) => jsonContent(store.playlists.find(params.short_id)),

  'playlists.update': ({ params, body }, { store, change }) =>
    jsonContent(store.playlists.update(params.short_id, body, change)),

  // The documented answer is always 405. The status stands in the table, and nothing changes.
  'playlists.delete': () => undefined,

  'playlists.recordings': ({ params }, { store }) => {
    jsonContent(store.playlists.find(params.short_id));
  },

  // The documented body has the playlist's fields, without a stated effect. It is checked and changes nothing.
  'playlists.add_recording': ({ params }, { store }) => {
    jsonContent(store.playlists.find(params.short_id));
    jsonContent(store.recordings.find(params.session_recording_id));
    store.playlists.addRecording(params.short_id, params.session_recording_id);
  },

  'playlists.remove_recording': ({ params }, { store }) => {
    if (!store.playlists.removeRecording(params.short_id, params.session_recording_id)) throw notFound();
  },

  'recordings.list': ({ query }, { store, url }) => {
    const window = windowOf(query);
    const { count, documents } = store.recordings.page(window);
    return listPage(url, window, count, documents);
  },

  'recordings.retrieve': ({ params }, { store }) => jsonContent(store.recordings.find(params.id)),
};
