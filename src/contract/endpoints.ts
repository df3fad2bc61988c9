import { z } from 'zod';
import { Person, PersonChange, Playlist, PlaylistChange, Recording, TrendInsight, pageOf } from './resources.ts';
import { readJson } from '../core/exact-json.ts';

/**
 * The scopes in use (section 5), and `session_recording:write`, which only live services have. A `:write` scope includes the
 * `:read` scope of the same object.
 */
export const scopes = [
  'insight:read',
  'person:read',
  'person:write',
  'activity_log:read',
  'session_recording_playlist:read',
  'session_recording_playlist:write',
  'session_recording:read',
  'session_recording:write',
] as const;
export type Scope = (typeof scopes)[number];

/** One endpoint of section 4, as data. Client, sandbox, OpenAPI and the help of `call` are derived from it. */
export type Endpoint = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below `{pathPrefix}/:project_id`, without a trailing slash. */
  path: string;
  /** A POST that changes nothing: it can be sent again, as a GET can. */
  isRead?: true;
  /** The path is not below a project: it stands beside the prefix's last segment. */
  isOutsideProjects?: true;
  /** Types of the path's parameters, as they are once read from the path. */
  params: z.ZodObject;
  /** The required scope; null where the document shows none (a valid key is still needed). */
  scope: Scope | null;
  /** The scope that live services require where the document shows none. */
  liveScope?: Scope;
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

/** What most endpoints have in common; each row of a table says what is its own. */
export const plain = {
  method: 'GET',
  params: z.object({}),
  scope: null,
  query: z.object({}),
  body: null,
  status: 200,
  response: null,
} as const;
const onPerson = { ...plain, path: '/persons/:id', params: personId, query: format } as const;
const onPlaylist = { ...plain, path: '/session_recording_playlists/:short_id', params: shortId } as const;
const onMember = {
  ...onPlaylist,
  path: '/session_recording_playlists/:short_id/recordings/:session_recording_id',
  params: shortId.extend({ session_recording_id: z.string() }),
} as const;

/** The 17 endpoints of section 4, by the name under which `analytics-mirror call` knows them. */
export const endpoints = {
  'insights.trend': {
    ...plain,
    method: 'POST',
    path: '/insights/trend',
    scope: 'insight:read',
    query: format,
    body: TrendInsight,
    summary: 'Create a trend insight',
  },
  'persons.list': {
    ...plain,
    path: '/persons',
    scope: 'person:read',
    query: personList,
    response: pageOf(Person),
    summary: 'List persons, filtered and paged',
  },
  'persons.retrieve': { ...onPerson, scope: 'person:read', response: Person, summary: 'Retrieve one person' },
  'persons.update': {
    ...onPerson,
    method: 'PATCH',
    scope: 'person:write',
    body: PersonChange,
    response: Person,
    summary: "Merge properties into a person's",
  },
  'persons.delete': {
    ...onPerson,
    method: 'DELETE',
    scope: 'person:write',
    query: format.extend({ delete_events: spelled(z.boolean()).optional() }),
    status: 204,
    summary: 'Delete a person, and queue the deletion of its events when asked',
  },
  'persons.activity': {
    ...onPerson,
    path: '/persons/:id/activity',
    scope: 'activity_log:read',
    summary: 'Read the activity of a person',
  },
  'persons.delete_property': {
    ...onPerson,
    method: 'POST',
    path: '/persons/:id/delete_property',
    scope: 'person:write',
    query: format.extend({ $unset: z.string() }),
    body: PersonChange,
    summary: 'Delete one property of a person',
  },
  'persons.properties_timeline': {
    ...onPerson,
    path: '/persons/:id/properties_timeline',
    summary: "Read how a person's properties changed",
  },
  'persons.split': {
    ...onPerson,
    method: 'POST',
    path: '/persons/:id/split',
    scope: 'person:write',
    body: PersonChange,
    summary: 'Split a person into one for each distinct id',
  },
  'playlists.retrieve': {
    ...onPlaylist,
    scope: 'session_recording_playlist:read',
    response: Playlist,
    summary: 'Retrieve one playlist',
  },
  'playlists.update': {
    ...onPlaylist,
    method: 'PATCH',
    scope: 'session_recording_playlist:write',
    body: PlaylistChange,
    response: Playlist,
    summary: 'Change a playlist, or delete it softly with deleted: true',
  },
  'playlists.delete': {
    ...onPlaylist,
    method: 'DELETE',
    scope: 'session_recording_playlist:write',
    status: 405,
    summary: 'Refused: hard delete is not allowed, use the soft delete',
  },
  'playlists.recordings': {
    ...onPlaylist,
    path: '/session_recording_playlists/:short_id/recordings',
    liveScope: 'session_recording_playlist:read',
    summary: 'Read the recordings of a playlist',
  },
  'playlists.add_recording': {
    ...onMember,
    method: 'POST',
    liveScope: 'session_recording_playlist:write',
    body: PlaylistChange,
    summary: 'Put a recording into a playlist',
  },
  'playlists.remove_recording': {
    ...onMember,
    method: 'DELETE',
    liveScope: 'session_recording_playlist:write',
    status: 204,
    summary: 'Take a recording out of a playlist',
  },
  'recordings.list': {
    ...plain,
    path: '/session_recordings',
    scope: 'session_recording:read',
    query: PageQuery,
    response: pageOf(Recording),
    summary: 'List session recordings, paged',
  },
  'recordings.retrieve': {
    ...plain,
    path: '/session_recordings/:id',
    params: z.object({ id: z.string() }),
    scope: 'session_recording:read',
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
