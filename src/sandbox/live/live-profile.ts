import { documentedPathPrefix } from '../../contract/endpoints.ts';
import { documentedRoutes, type Profile } from '../http/profile.ts';
import type { SandboxClock } from '../sandbox-clock.ts';
import type { Store } from '../store/store.ts';
import { bulkDeletionRoutes } from './bulk-deletion-routes.ts';
import { deferredChanges } from './deferred-changes.ts';
import type { LiveOptions } from './live-options.ts';
import { livePersonRoutes } from './live-person-routes.ts';
import { liveRecordingRoutes } from './live-recording-routes.ts';
import { liveRefusal } from './live-refusal.ts';

const dayMicros = 86_400_000_000;

/** The service as it is met in practice: the documented routes, but for those that depart from the document. */
export function liveProfile(
  { recordings }: Pick<Store, 'recordings'>,
  clock: SandboxClock,
  options: LiveOptions,
): Profile {
  const deferred = deferredChanges(options.actsAfterRequests);
  const departing = [...livePersonRoutes(options, deferred), ...liveRecordingRoutes(options)];
  const departed = new Set(departing.map(({ name }) => name));
  return {
    pathPrefixes: [documentedPathPrefix, '/api/projects'],
    routes: [
      // First, since `/persons/:id` matches their paths too.
      ...bulkDeletionRoutes(),
      ...departing,
      ...documentedRoutes.filter(({ name }) => !departed.has(name)),
    ],
    beforeRequest: (requestNumber) => {
      deferred.makeDue(requestNumber);
      recordings.expireBefore(clock.now() * 1000 - options.retentionDays * dayMicros);
    },
    refuse: liveRefusal,
    packs: true,
  };
}
