import type { Content, EndpointHandlers } from './endpoint-handler.ts';
import { notFound } from './refusal.ts';

/** Section 4.3. */
export const playlistHandlers = {
  'playlists.retrieve': ({ params }, { store }) => content(store.playlists.find(params.short_id)),

  'playlists.update': ({ params, body }, { store, change }) =>
    content(store.playlists.update(params.short_id, body, change)),

  // The refusal is the documented answer, always: its status stands in the table, and nothing changes.
  'playlists.delete': () => undefined,

  'playlists.recordings': ({ params }, { store }) => {
    content(store.playlists.find(params.short_id));
  },

  // The body has the playlist's fields in the document, and no stated effect: it is checked and changes nothing.
  'playlists.add_recording': ({ params }, { store }) => {
    content(store.playlists.find(params.short_id));
    content(store.recordings.find(params.session_recording_id));
    store.playlists.addRecording(params.short_id, params.session_recording_id);
  },

  'playlists.remove_recording': ({ params }, { store }) => {
    if (!store.playlists.removeRecording(params.short_id, params.session_recording_id)) throw notFound();
  },
} satisfies Partial<EndpointHandlers>;

function content(text: string | undefined): Content {
  if (text === undefined) throw notFound();
  return { type: 'application/json', text };
}
