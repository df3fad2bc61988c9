import { z } from 'zod';
import { Person, PersonChange, Playlist, PlaylistChange, Recording, TrendInsight, pageOf } from './resources.ts';
import { readJson } from '../core/exact-json.ts';

/** The scopes in use (section 5). A `:write` scope includes the `:read` scope of the same object. */
export const scopes = [
  'insight:read',
  'person:read',
  'person:write',
  'activity_log:read',
  'session_recording_playlist:read',
  'session_recording_playlist:write',
  'session_recording:read',
] as const;
export type Scope = (typeof scopes)[number];

/** One endpoint of section 4, as data. Client, sandbox, OpenAPI and the table in docs/sandbox.md are derived from it. */
export type Endpoint = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below `{pathPrefix}/:project_id`, without a trailing slash. */
  path: string;
  /** The path is not below a project: it stands beside the prefix's last segment. */
  isOutsideProjects?: true;
  /** Types of the path's parameters, as they are once read from the path. */
  params: z.ZodObject;
  /** The required scope; null where the document shows none (a valid key is still needed). */
  scope: Scope | null;
  query: z.ZodObject;
  body: z.ZodType | null;
  /** The one documented status of a success, or of the documented refusal (405). */
  status: 200 | 202 | 204 | 405;
  /** Null where the document says that the response has no body. */
  response: z.ZodType | null;
  summary: string;
};

/** Where every path begins in the document; live services also answer under `/api/projects`. */
export const documentedPathPrefix = '/api/environments';

const noParams = z.object({});

/** A value of a path or query, read from the one spelling that JSON has for it: `1e3`, `+1`, ` 1` or `yes` stay texts. */
function spelled<T extends z.ZodType>(value: T) {
  const isLiteral = (text: unknown): text is string =>
    typeof text === 'string' && /^(?:true|false|0|-?[1-9]\d*)$/.test(text);
  return z.preprocess((text) => (isLiteral(text) ? (JSON.parse(text) as unknown) : text), value);
}

/** The integer that identifies a person in a path. */
export const PersonId = spelled(z.int());

const personId = z.object({ id: PersonId });
const shortId = z.object({ short_id: z.string() });
const membership = shortId.extend({ session_recording_id: z.string() });

const noQuery = z.object({});
const format = z.object({ format: z.enum(['csv', 'json']).optional() });
/** The query of a paged list. */
export const PageQuery = z.object({
  limit: spelled(z.int().min(1)).optional(),
  offset: spelled(z.int().min(0)).optional(),
});
const personList = PageQuery.extend({
  ...format.shape,
  distinct_id: z.string().optional(),
  email: z.string().optional(),
  properties: z.preprocess(parseJsonText, z.array(z.unknown())).optional(),
  search: z.string().optional(),
});

/** The 17 endpoints of section 4, by the name under which `analytics-mirror call` knows them. */
export const endpoints = {
  'insights.trend': {
    method: 'POST',
    path: '/insights/trend',
    params: noParams,
    scope: 'insight:read',
    query: format,
    body: TrendInsight,
    status: 200,
    response: null,
    summary: 'Create a trend insight',
  },
  'persons.list': {
    method: 'GET',
    path: '/persons',
    params: noParams,
    scope: 'person:read',
    query: personList,
    body: null,
    status: 200,
    response: pageOf(Person),
    summary: 'List persons, filtered and paged',
  },
  'persons.retrieve': {
    method: 'GET',
    path: '/persons/:id',
    params: personId,
    scope: 'person:read',
    query: format,
    body: null,
    status: 200,
    response: Person,
    summary: 'Retrieve one person',
  },
  'persons.update': {
    method: 'PATCH',
    path: '/persons/:id',
    params: personId,
    scope: 'person:write',
    query: format,
    body: PersonChange,
    status: 200,
    response: Person,
    summary: "Merge properties into a person's",
  },
  'persons.delete': {
    method: 'DELETE',
    path: '/persons/:id',
    params: personId,
    scope: 'person:write',
    query: format.extend({ delete_events: spelled(z.boolean()).optional() }),
    body: null,
    status: 204,
    response: null,
    summary: 'Delete a person, and queue the deletion of its events when asked',
  },
  'persons.activity': {
    method: 'GET',
    path: '/persons/:id/activity',
    params: personId,
    scope: 'activity_log:read',
    query: format,
    body: null,
    status: 200,
    response: null,
    summary: 'Read the activity of a person',
  },
  'persons.delete_property': {
    method: 'POST',
    path: '/persons/:id/delete_property',
    params: personId,
    scope: 'person:write',
    query: format.extend({ $unset: z.string() }),
    body: PersonChange,
    status: 200,
    response: null,
    summary: 'Delete one property of a person',
  },
  'persons.properties_timeline': {
    method: 'GET',
    path: '/persons/:id/properties_timeline',
    params: personId,
    scope: null,
    query: format,
    body: null,
    status: 200,
    response: null,
    summary: "Read how a person's properties changed",
  },
  'persons.split': {
    method: 'POST',
    path: '/persons/:id/split',
    params: personId,
    scope: 'person:write',
    query: format,
    body: PersonChange,
    status: 200,
    response: null,
    summary: 'Split a person into one for each distinct id',
  },
  'playlists.retrieve': {
    method: 'GET',
    path: '/session_recording_playlists/:short_id',
    params: shortId,
    scope: 'session_recording_playlist:read',
    query: noQuery,
    body: null,
    status: 200,
    response: Playlist,
    summary: 'Retrieve one playlist',
  },
  'playlists.update': {
    method: 'PATCH',
    path: '/session_recording_playlists/:short_id',
    params: shortId,
    scope: 'session_recording_playlist:write',
    query: noQuery,
    body: PlaylistChange,
    status: 200,
    response: Playlist,
    summary: 'Change a playlist; `deleted: true` is the soft delete',
  },
  'playlists.delete': {
    method: 'DELETE',
    path: '/session_recording_playlists/:short_id',
    params: shortId,
    scope: 'session_recording_playlist:write',
    query: noQuery,
    body: null,
    status: 405,
    response: null,
    summary: 'Refused: hard delete is not allowed, use the soft delete',
  },
  'playlists.recordings': {
    method: 'GET',
    path: '/session_recording_playlists/:short_id/recordings',
    params: shortId,
    scope: null,
    query: noQuery,
    body: null,
    status: 200,
    response: null,
    summary: 'Read the recordings of a playlist',
  },
  'playlists.add_recording': {
    method: 'POST',
    path: '/session_recording_playlists/:short_id/recordings/:session_recording_id',
    params: membership,
    scope: null,
    query: noQuery,
    body: PlaylistChange,
    status: 200,
    response: null,
    summary: 'Put a recording into a playlist',
  },
  'playlists.remove_recording': {
    method: 'DELETE',
    path: '/session_recording_playlists/:short_id/recordings/:session_recording_id',
    params: membership,
    scope: null,
    query: noQuery,
    body: null,
    status: 204,
    response: null,
    summary: 'Take a recording out of a playlist',
  },
  'recordings.list': {
    method: 'GET',
    path: '/session_recordings',
    params: noParams,
    scope: 'session_recording:read',
    query: PageQuery,
    body: null,
    status: 200,
    response: pageOf(Recording),
    summary: 'List session recordings, paged',
  },
  'recordings.retrieve': {
    method: 'GET',
    path: '/session_recordings/:id',
    params: z.object({ id: z.string() }),
    scope: 'session_recording:read',
    query: noQuery,
    body: null,
    status: 200,
    response: Recording,
    summary: 'Retrieve one session recording',
  },
} as const satisfies Record<string, Endpoint>;

export type EndpointName = keyof typeof endpoints;

/** A person's path parameters, by the digits of the integer id, or by the uuid, which live services take there. */
export function personParams(idOrUuid: string): z.output<typeof personId> {
  return { id: idOrUuid as unknown as number };
}

/** Every endpoint's name, in the order of section 4. */
export const endpointNames = Object.keys(endpoints) as EndpointName[];

function parseJsonText(value: unknown, context: z.core.$RefinementCtx): unknown {
  const parsed = readJson(String(value));
  if (parsed === undefined) context.addIssue({ code: 'custom', message: 'not valid JSON' });
  return parsed;
}
