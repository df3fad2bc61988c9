import type { EndpointHandlers } from './endpoint-handlers.ts';

/** Section 4.1. */
export const insightHandlers = {
  'insights.trend': ({ body }, { store, change }) => store.insights.add(body, change),
} satisfies Partial<EndpointHandlers>;
