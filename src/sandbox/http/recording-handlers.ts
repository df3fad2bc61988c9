import type { EndpointHandlers } from './endpoint-handler.ts';
import { listPage, windowOf } from './list-page.ts';
import { notFound } from './refusal.ts';

/** Section 4.4. */
export const recordingHandlers = {
  'recordings.list': ({ query }, { store, url }) => {
    const window = windowOf(query);
    const { count, documents } = store.recordings.page(window);
    return listPage(url, window, count, documents);
  },

  'recordings.retrieve': ({ params }, { store }) => {
    const text = store.recordings.find(params.id);
    if (text === undefined) throw notFound();
    return { type: 'application/json', text };
  },
} satisfies Partial<EndpointHandlers>;
