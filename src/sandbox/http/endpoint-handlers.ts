import type { EndpointHandlers } from './endpoint-handler.ts';
import { insightHandlers } from './insight-handlers.ts';
import { personHandlers } from './person-handlers.ts';
import { playlistHandlers } from './playlist-handlers.ts';
import { recordingHandlers } from './recording-handlers.ts';

/** Every endpoint's handler: one that is missing does not compile. */
export const endpointHandlers: EndpointHandlers = {
  ...insightHandlers,
  ...personHandlers,
  ...playlistHandlers,
  ...recordingHandlers,
};
