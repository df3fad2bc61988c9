import type { Store } from '../store/store.ts';
import { refusals, type ErrorBody } from '../../contract/error-body.ts';
import { Refusal } from './answer.ts';
import { documentedRoutes } from './profile.ts';

/** The examples of the OpenAPI document. All of them work as they stand: their ids are those of rows in the data. */
export type Examples = {
  /** A value for a parameter of the path or the query; undefined where the data or the document has none. */
  parameter: (endpoint: string, name: string) => string | number | undefined;
  body: (endpoint: string) => object | undefined;
  /** The present answer of a read, also for the write that answers in the same form. */
  answer: (endpoint: string) => unknown;
  error: (status: number) => ErrorBody | undefined;
};

const bodies: Readonly<Record<string, object>> = {
  'insights.trend': {
    name: 'Sign-ups by day',
    query: '{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"signed up"}]}',
  },
  'persons.update': { properties: { plan: 'pro' } },
  'persons.delete_property': {},
  'persons.split': {},
  'playlists.update': { name: 'First visits', pinned: true },
  'playlists.add_recording': {},
};

const details: Readonly<Record<number, string>> = {
  400: 'Invalid input.',
  401: 'Personal API key found in request is invalid.',
  403: "API key missing required scope 'person:write'",
  404: 'Not found.',
};

/** Examples from the newest rows of the data. `origin` is where the service listens. */
export function examplesOf(store: Store, projectId: string, origin: string): Examples {
  const newest = { limit: 1, offset: 0 };
  const [person] = store.persons.page({}, newest).rows;
  const [recording] = store.recordings.page(newest).documents;
  const recordingId = recording && (JSON.parse(recording) as { id: string }).id;
  const [playlist] = store.playlists.shortIds();
  const parameter: Examples['parameter'] = (endpoint, name) => {
    if (name === 'project_id') return projectId;
    if (name === 'short_id') return playlist;
    if (name === 'session_recording_id') return recordingId;
    if (name === '$unset') return 'plan';
    if (name === 'id') return endpoint.startsWith('persons.') ? person?.id : recordingId;
    return undefined;
  };
  const answer = (endpoint: string): unknown => {
    const read = documentedRoutes.find(({ name }) => name === endpoint.replace('.update', '.retrieve'));
    if (read?.row.method !== 'GET') return undefined;
    const params = Object.fromEntries(
      Object.keys(read.row.params.shape).map((name) => [name, parameter(endpoint, name)]),
    );
    const call = {
      store,
      change: { userId: 0, atMs: 0 },
      url: new URL(origin),
      projects: [{ id: projectId, name: 'Sandbox' }],
    };
    try {
      const text = read.handle({ params, query: { limit: 1 }, body: null }, call)?.text;
      return text === undefined ? undefined : (JSON.parse(text) as unknown);
    } catch (error) {
      // The data can be without any row of that kind.
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  };
  return { parameter, body: (endpoint) => bodies[endpoint], answer, error: exampleError };
}

function exampleError(status: number): ErrorBody | undefined {
  const refusal = Object.values(refusals).findLast((one) => one.status === status);
  if (!refusal) return undefined;
  const { type, code } = refusal;
  return { type, code, detail: details[status] ?? '', attr: null };
}
