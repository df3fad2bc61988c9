import type { EndpointHandlers } from './endpoint-handler.ts';

/** Section 4.1. */
export const insightHandlers = {
  'insights.trend': ({ body }, { store, change }) => store.insights.add(body, change),
} satisfies Partial<EndpointHandlers>;
