import { documentedPathPrefix } from '../../contract/endpoints.ts';
import { projectEndpoints } from '../../contract/projects.ts';
import { type Answer, jsonAnswer, Refusal, refusalAnswer } from '../http/answer.ts';
import { projectPage } from '../http/list-page.ts';
import { documentedRoutes, route, type Profile } from '../http/profile.ts';
import type { SandboxClock } from '../sandbox-clock.ts';
import type { Store } from '../store/store.ts';
import { bulkDeletionRoutes, personBatchRoutes } from './batch-routes.ts';
import { deferredChanges, livePersonRoutes } from './live-person-routes.ts';
import type { LiveOptions } from './live-data.ts';
import { livePlaylistRoutes } from './live-playlist-routes.ts';
import { liveRecordingRoutes } from './live-recording-routes.ts';

const dayMicros = 86_400_000_000;
const limitedKey = 'API keys with scoped projects are only supported on project-based endpoints.';

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
    route('projects.list', projectEndpoints['projects.list'], (_input, call) => {
      if (!options.projectsListed) throw new Refusal('permissionDenied', limitedKey);
      return projectPage(call, ({ id, name }) => ({ id: Number(id), name, timezone: 'UTC', is_demo: true }));
    }),
  ];
  const departed = new Set(departing.map(({ name }) => name));
  return {
    pathPrefixes: [documentedPathPrefix, '/api/projects'],
    headersBelow: (prefix) => (prefix === documentedPathPrefix ? deprecated : {}),
    routes: [
      // They come first, because `/persons/:id` matches their paths too.
      ...bulkDeletionRoutes(options, deferred),
      ...(options.personBatches ? personBatchRoutes : []),
      ...departing,
      ...documentedRoutes.filter(({ name }) => !departed.has(name)),
    ],
    beforeRequest: (requestNumber) => {
      deferred.makeDue(requestNumber, clock.now());
      recordings.expireBefore(clock.now() * 1000 - options.retentionDays * dayMicros);
    },
    refuse: liveRefusal,
    admit: ({ method, isOutsideProjects }) => {
      const isRefused = options.refuses === 'editing' ? method !== 'GET' : !isOutsideProjects;
      if (options.refuses !== 'nothing' && isRefused)
        throw new Refusal('permissionDenied', refusalWords[options.refuses]);
    },
    unknownPath: () => ({ status: 404, headers: { 'Content-Type': 'text/html; charset=utf-8' }, body: unknownPage }),
    packs: true,
  };
}

/** What answers say below the documented prefix, which the service rewrites to the other one. */
const deprecated = { Deprecation: 'true', Sunset: 'Fri, 31 Jul 2026 00:00:00 GMT' };

const refusalWords: Record<Exclude<LiveOptions['refuses'], 'nothing'>, string> = {
  'other-project': 'This key has no access to the requested project.',
  'members-keys': 'The organization does not allow personal API keys of its members.',
  editing: 'You do not have editor access to this resource.',
};

const unknownPage = `<!doctype html>
<html lang="en"><head><title>Not Found</title></head>
<body><h1>Not Found</h1><p>The requested resource was not found on this server.</p></body></html>
`;

/** A refusal in one of the forms that live services use, in turn. Half of them have the usual form, and every 404 has. */
function liveRefusal(refusal: Refusal, requestNumber: number): Answer {
  const { status, body } = refusal;
  switch (status === 404 ? 0 : requestNumber % 6) {
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
