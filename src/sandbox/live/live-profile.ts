import { documentedPathPrefix } from '../../contract/endpoints.ts';
import { projectEndpoints } from '../../contract/projects.ts';
import { type Answer, jsonAnswer, type Refusal, refusalAnswer } from '../http/answer.ts';
import { projectPage } from '../http/list-page.ts';
import { documentedRoutes, route, type Profile } from '../http/profile.ts';
import type { SandboxClock } from '../sandbox-clock.ts';
import type { Store } from '../store/store.ts';
import { bulkDeletionRoutes } from './bulk-deletion-routes.ts';
import { deferredChanges, livePersonRoutes } from './live-person-routes.ts';
import type { LiveOptions } from './live-data.ts';
import { livePlaylistRoutes } from './live-playlist-routes.ts';
import { liveRecordingRoutes } from './live-recording-routes.ts';

const dayMicros = 86_400_000_000;

/** The service as it is met in practice: the documented routes, except those in which live services differ. */
export function liveProfile(
  { recordings }: Pick<Store, 'recordings'>,
  clock: SandboxClock,
  options: LiveOptions,
): Profile {
  const deferred = deferredChanges(options.actsAfterRequests);
  const departing = [
    ...livePersonRoutes(options, deferred),
    ...liveRecordingRoutes(options),
    ...livePlaylistRoutes(options),
    route('projects.list', projectEndpoints['projects.list'], (_input, call) =>
      projectPage(call, ({ id, name }) => ({ id: Number(id), name, timezone: 'UTC', is_demo: true })),
    ),
  ];
  const departed = new Set(departing.map(({ name }) => name));
  return {
    pathPrefixes: [documentedPathPrefix, '/api/projects'],
    routes: [
      // They come first, because `/persons/:id` matches their paths too.
      ...bulkDeletionRoutes(deferred),
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

/** A refusal in one of the forms that live services use, in turn. Half of them have the documented form. */
function liveRefusal(refusal: Refusal, requestNumber: number): Answer {
  const { status, body } = refusal;
  switch (requestNumber % 6) {
    case 1:
      return jsonAnswer(status, JSON.stringify({ error: body.detail }));
    case 3:
      return jsonAnswer(status, JSON.stringify({ success: false }));
    case 5:
      return { status, headers: { 'Content-Length': '0' }, body: '' };
    default:
      return refusalAnswer(refusal);
  }
}
