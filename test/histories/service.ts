import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A person as the service keeps it. */
export type Person = {
  uuid: string;
  id: number;
  /** As it shows it: who came by an event that was sent late is shown as older. */
  createdAtMs: number;
  bornMs: number;
  distinctIds: string[];
  properties: Record<string, string>;
};

/** A recording, under the distinct id that made it. It shows the person that has this id now. A live service keeps it until it expires. */
type Recording = {
  id: string;
  distinctId: string;
  startMs: number;
  endMs: number;
  expiresMs: number;
  /** When it goes, where its deletion is queued. */
  goneMs: number;
  url: string;
};

/** `collected`: the recordings of the one playlist that there is, the newest first. */
type State = { persons: Map<string, Person>; recordings: Map<string, Recording>; collected: string[]; lastId: number };

export const playlistId = 'Pl4yl1st';
/** A live service shows no more recordings of a playlist. */
export const entriesMax = 2;
/** What the list of recordings is asked for. A live service does not list older ones. */
export const listedSince = '-30d';

/**
 * What stands before the service: it answers in its own words for paths that end with an id, for all paths where the service is
 * `down`, for lists of who has an address or a distinct id where the `search` is down, and instead of the service where an answer to a
 * change is `lost`. `flaky`: of five calls, two in a row fail. `entries`: the key may neither read nor change what is in playlists.
 */
export type Proxy = 'none' | 'page' | 'route' | 'empty' | 'down' | 'lost' | 'search' | 'flaky' | 'entries';

/** What a deletion of a person was, at the moment at which the service made it. */
export type Deletion = { person: Person; atMs: number };

/**
 * A service in the words of the document, and of none of this program's files: a store of rows, a clock of its own, and what
 * happens to real ones. `isLive`: as live services depart from the document, with bulk deletion and rows of deletions of events.
 */
export type Service = {
  url: string;
  isLive: boolean;
  state: State;
  /** How far its clock is ahead of the world's. */
  aheadMs: number;
  proxy: Proxy;
  /** Rows that its lists do not show, although they are there, and whether its counts have them. */
  hidden: Map<string, { isCounted: boolean }>;
  /** Rows that it neither lists nor shows by their ids for now: in another storage, or not yet copied there. */
  away: Set<string>;
  /**
   * Live lists select rows of one store by its times, and show those that another store has, in the order of the times there. What is
   * selected while the first store stands still: by uuid, with times.
   */
  selected: Map<string, number> | undefined;
  /** How far a person's time in the first store is ahead of the one that is shown, by uuid. */
  misplaced: Map<string, number>;
  /** For how long it keeps what is recorded from now on. */
  keepDays: number;
  onDelete: (deletion: Deletion) => void;
  /** Hears of each recording that is deleted by a call about it. */
  onDeleteRecording: (recordingId: string) => void;
  /** Hears of each recording that is taken out of the playlist. */
  onRemove: (recordingId: string) => void;
  nowMs: () => number;
  close: () => Promise<void>;
};

/** The uuid that the service gives to whoever it first sees under a distinct id: always the same. */
export function uuidOf(distinctId: string): string {
  const hex = createHash('sha256').update(distinctId).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** The person who has a distinct id now; undefined where nobody has. */
export function holderOf({ persons }: Pick<State, 'persons'>, distinctId: string): Person | undefined {
  return [...persons.values()].find(({ distinctIds }) => distinctIds.includes(distinctId));
}

/** A copy of all rows: a backup that can be put back. */
export function copyOf({ persons, recordings, collected, lastId }: State): State {
  return structuredClone({ persons, recordings, collected, lastId });
}

/** All rows are shown again. Those that are misplaced stay so. */
export function showAll(service: Service): void {
  service.hidden.clear();
  service.away.clear();
  service.selected = undefined;
}

/** From now on lists know of no change in the store that they select from. Only live services have another one. */
export function standStill(service: Service): void {
  if (service.isLive) service.selected = selectedBy(service);
}

/** Whether a list shows a person whom the service has. */
export function isListed({ hidden, away, selected }: Service, uuid: string): boolean {
  return !hidden.has(uuid) && !away.has(uuid) && selected?.has(uuid) !== false;
}

/** Whether the list that this program's pages ask for has a recording that the service has. */
export function isRecordingListed(service: Service, id: string): boolean {
  const recording = service.state.recordings.get(id);
  return recording !== undefined && partSince(recording, sinceMs(service, listedSince)) !== undefined;
}

/** Recordings that have expired, or whose deletion was due, are gone. */
export function passTime({ state: { recordings }, nowMs }: Service): void {
  for (const { id, expiresMs, goneMs } of recordings.values())
    if (Math.min(expiresMs, goneMs) < nowMs()) recordings.delete(id);
}

/** Serves it on loopback. `worldMs` tells the time of the world. */
export async function openService(worldMs: () => number, isLive: boolean): Promise<Service> {
  const queue: { uuid: string; createdAtMs: number }[] = [];
  const service: Service = {
    url: '',
    isLive,
    state: { persons: new Map(), recordings: new Map(), collected: [], lastId: 100 },
    aheadMs: 0,
    proxy: 'none',
    hidden: new Map(),
    away: new Set(),
    selected: undefined,
    misplaced: new Map(),
    keepDays: 90,
    onDelete: () => undefined,
    onDeleteRecording: () => undefined,
    onRemove: () => undefined,
    nowMs: () => worldMs() + service.aheadMs,
    close: () => close(server),
  };
  let calls = 0;
  const server = createServer((request, response) => {
    const reply = async (): Promise<void> => {
      const body = await readBody(request);
      const { method = '', url = '' } = request;
      const { proxy } = service;
      passTime(service);
      calls += 1;
      const isCutOff = proxy === 'down' || (proxy === 'flaky' && calls % 5 < 2);
      const said = isCutOff ? proxied[proxy] : answer(service, queue, { method, url, body });
      const { status, json, html } = proxy === 'lost' && method !== 'GET' ? proxied.lost : said;
      response.setHeader('Date', new Date(service.nowMs()).toUTCString());
      response.setHeader('Content-Type', html === undefined ? 'application/json' : 'text/html');
      response.statusCode = status;
      response.end(html ?? (json === undefined ? '' : JSON.stringify(json)));
    };
    void reply();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return service;
}

type Asked = { method: string; url: string; body: string };
type Answer = { status: number; json?: unknown; html?: string };

const notFound: Answer = {
  status: 404,
  json: { type: 'invalid_request', code: 'not_found', detail: 'Not found.', attr: null },
};

const proxied: Record<Exclude<Proxy, 'none'>, Answer> = {
  page: { status: 404, html: '<html><body><h1>404 Not Found</h1><hr>nginx</body></html>' },
  route: { status: 404, json: { message: 'no Route matched with those values' } },
  empty: { status: 404 },
  down: { status: 503 },
  lost: { status: 502 },
  search: { status: 503 },
  flaky: { status: 502 },
  entries: { status: 403, json: { type: 'authentication_error', code: 'permission_denied', detail: '', attr: null } },
};

function answer(
  service: Service,
  queue: { uuid: string; createdAtMs: number }[],
  { method, url, body }: Asked,
): Answer {
  const { pathname, searchParams: query } = new URL(url, 'http://service');
  const [resource = '', ref, ...more] = pathname
    .replace(/^\/api\/environments\/1\//, '')
    .split('/')
    .filter((word) => word !== '')
    .map(decodeURIComponent);
  const { state } = service;
  if (pathname === '/api/projects/') return { status: 200, json: { results: [{ id: 1, name: 'Shop' }], next: null } };
  if (resource === 'session_recording_playlists' && ref === playlistId) return answerPlaylist(service, method, more);
  if (more.length > 0 || (resource !== 'persons' && resource !== 'session_recordings')) return notFound;
  if (ref === undefined) return resource === 'persons' ? listPersons(service, query) : listRecordings(service, query);
  if (resource === 'persons' && service.isLive) {
    if (ref === 'deletion_status') {
      const asked = query.get('person_uuid');
      const rows = queue.filter(({ uuid }) => asked === null || uuid === asked);
      return { status: 200, json: { results: rows.map((row) => deletionJson(row, service.nowMs())) } };
    }
    if (ref === 'bulk_delete') {
      const asked = JSON.parse(body) as { ids: string[]; delete_events?: boolean; delete_recordings?: boolean };
      const { ids, delete_events: events, delete_recordings: recordings = false } = asked;
      if (ids.length === 0)
        return { status: 400, json: { type: 'validation_error', code: 'invalid_input', detail: '' } };
      const found = ids.flatMap((uuid) => state.persons.get(uuid) ?? []);
      for (const person of found) deletePerson(service, queue, person, events === true);
      if (recordings) for (const person of found) queueRecordings(service, person);
      const counts = { persons_found: found.length, persons_deleted: found.length, events_queued_for_deletion: events };
      return { status: 202, json: { ...counts, recordings_queued_for_deletion: recordings, deletion_errors: [] } };
    }
  }
  const { proxy } = service;
  if (proxy === 'page' || proxy === 'route' || proxy === 'empty') return proxied[proxy];
  if (resource === 'session_recordings') {
    if (service.isLive && method === 'POST' && ref === 'bulk_delete') return deleteMany(service, body);
    const recording = service.away.has(ref) ? undefined : state.recordings.get(ref);
    if (recording && service.isLive && method === 'DELETE') return deleteRecording(service, ref);
    return recording && method === 'GET' ? { status: 200, json: recordingJson(service, recording) } : notFound;
  }
  const isUuid = ref.includes('-');
  if (isUuid && !service.isLive)
    return { status: 400, json: { type: 'validation_error', code: 'invalid_input', detail: '' } };
  const person = isUuid ? state.persons.get(ref) : [...state.persons.values()].find(({ id }) => String(id) === ref);
  if (!person || service.away.has(person.uuid)) return notFound;
  if (method === 'GET') return { status: 200, json: personJson(person) };
  if (method !== 'DELETE') return { status: 200, json: personJson(person) };
  deletePerson(service, queue, person, query.has('delete_events'));
  if (service.isLive && query.has('delete_recordings')) queueRecordings(service, person);
  return { status: service.isLive ? 202 : 204 };
}

/** A live service hides entries of recordings that it does not show, and fails at an entry that is gone. The documented one tells of none. */
function answerPlaylist(service: Service, method: string, [what, id]: readonly string[]): Answer {
  const { state, proxy, away, isLive } = service;
  const isOfOne = what === undefined || id !== undefined;
  if (isOfOne && (proxy === 'page' || proxy === 'route' || proxy === 'empty')) return proxied[proxy];
  const { collected } = state;
  if (what === undefined) return { status: 200, json: playlistJson(collected.length) };
  if (proxy === 'entries') return proxied.entries;
  if (id === undefined) {
    const shown = collected.flatMap((each) => (away.has(each) ? [] : (state.recordings.get(each) ?? [])));
    const results = shown.slice(0, entriesMax).map((row) => recordingJson(service, row));
    return { status: 200, ...(isLive ? { json: { results, has_next: shown.length > entriesMax } } : {}) };
  }
  if (method !== 'DELETE') return notFound;
  state.collected = collected.filter((each) => each !== id);
  service.onRemove(id);
  if (!isLive) return { status: 204 };
  if (collected.includes(id)) return { status: 200, json: { success: true } };
  return { status: 500, json: { type: 'server_error', code: 'error', detail: 'A server error occurred.', attr: null } };
}

function playlistJson(count: number): object {
  const at = '2026-11-01T09:00:00.000Z';
  return {
    id: 7,
    short_id: playlistId,
    name: 'Checkout',
    derived_name: null,
    description: '',
    pinned: false,
    created_at: at,
    created_by: null,
    deleted: false,
    filters: null,
    last_modified_at: at,
    last_modified_by: null,
    recordings_counts: { collection: { count } },
  };
}

function deletePerson(
  service: Service,
  queue: { uuid: string; createdAtMs: number }[],
  person: Person,
  withEvents: boolean,
): void {
  service.state.persons.delete(person.uuid);
  service.onDelete({ person, atMs: service.nowMs() });
  // One row of a person that waits: a second deletion of the events makes none.
  const waits = queue.some((row) => row.uuid === person.uuid && batchAfter(row.createdAtMs) > service.nowMs());
  if (withEvents && !waits) queue.push({ uuid: person.uuid, createdAtMs: service.nowMs() });
}

/** They go an hour later. Of every second person it forgets them. */
function queueRecordings({ state: { recordings }, nowMs }: Service, { id, distinctIds }: Person): void {
  if (id % 2 === 1) return;
  for (const recording of recordings.values())
    if (distinctIds.includes(recording.distinctId)) recording.goneMs = nowMs() + 3_600_000;
}

function deleteRecording(service: Service, id: string): Answer {
  service.state.recordings.delete(id);
  service.onDeleteRecording(id);
  return { status: 204 };
}

/** A live service passes over those that are older than two days. */
function deleteMany(service: Service, body: string): Answer {
  const { session_recording_ids: ids } = JSON.parse(body) as { session_recording_ids: string[] };
  const some = ids.filter((id) => (service.state.recordings.get(id)?.startMs ?? 0) > service.nowMs() - 2 * dayMs);
  for (const id of some) deleteRecording(service, id);
  return { status: 200, json: { success: true, deleted_count: some.length, total_requested: ids.length } };
}

const dayMs = 86_400_000;
const weekMs = 7 * dayMs;
/** A Sunday, 05:00 UTC. */
const aSundayMs = Date.parse('2026-01-04T05:00:00.000Z');

function batchAfter(ms: number): number {
  return aSundayMs + (Math.floor((ms - aSundayMs) / weekMs) + 1) * weekMs;
}

function deletionJson({ uuid, createdAtMs }: { uuid: string; createdAtMs: number }, nowMs: number): object {
  const doneAtMs = batchAfter(createdAtMs) + 3_600_000;
  const isDone = doneAtMs <= nowMs;
  return {
    person_uuid: uuid,
    created_at: new Date(createdAtMs).toISOString(),
    status: isDone ? 'completed' : 'pending',
    delete_verified_at: isDone ? new Date(doneAtMs).toISOString() : null,
  };
}

/** When each person is selected by a list. */
function selectedBy({ state: { persons }, misplaced }: Service): Map<string, number> {
  return new Map([...persons.values()].map((row) => [row.uuid, row.createdAtMs + (misplaced.get(row.uuid) ?? 0)]));
}

function listPersons(service: Service, query: URLSearchParams): Answer {
  const { persons } = service.state;
  const distinctId = query.get('distinct_id');
  const email = query.get('email');
  if (service.proxy === 'search' && (distinctId ?? email) !== null) return proxied.search;
  const isMeant = ({ distinctIds, properties }: Person): boolean =>
    (distinctId === null || distinctIds.includes(distinctId)) && (email === null || properties['email'] === email);
  const isAny = (distinctId ?? email) === null;
  const keys = [...(service.selected ?? selectedBy(service))]
    .filter(([uuid]) => isAny || [persons.get(uuid)].some((person) => person && isMeant(person)))
    .toSorted(([a, aMs], [b, bMs]) => bMs - aMs || (a < b ? 1 : -1))
    .map(([uuid]) => uuid);
  // The list of a live service shows the uuid as the id.
  const toJson = (person: Person): object => ({
    ...personJson(person),
    ...(service.isLive ? { id: person.uuid } : {}),
  });
  return page(service, query, keys, (some) =>
    some
      .flatMap((uuid) => persons.get(uuid) ?? [])
      .toSorted((a, b) => b.createdAtMs - a.createdAtMs || (a.uuid < b.uuid ? 1 : -1))
      .map(toJson),
  );
}

/** A live service lists a recording by the part since a time, and cuts it at midnight (UTC). */
function listRecordings(service: Service, query: URLSearchParams): Answer {
  const since = service.isLive ? sinceMs(service, query.get('date_from') ?? '-3d') : 0;
  const rows = [...service.state.recordings.values()]
    .flatMap((recording) => partSince(recording, since) ?? [])
    .toSorted((a, b) => b.startMs - a.startMs || (a.id < b.id ? 1 : -1));
  const jsonOf = new Map(rows.map((row) => [row.id, (): object => recordingJson(service, row)]));
  return page(service, query, [...jsonOf.keys()], (some) => some.flatMap((id) => jsonOf.get(id)?.() ?? []));
}

function sinceMs({ nowMs }: Service, dateFrom: string): number {
  return nowMs() + Number(dateFrom.slice(0, -1)) * dayMs;
}

function partSince(recording: Recording, since: number): Recording | undefined {
  const { startMs, endMs, url } = recording;
  if (startMs >= since) return recording;
  const midnightMs = Math.ceil(since / dayMs) * dayMs;
  return midnightMs <= endMs ? { ...recording, startMs: midnightMs, url: url.replace(/[^/]*$/, '') } : undefined;
}

/** A page of the rows with these keys, in their order. `show`: those of a page that there are. */
function page(
  service: Service,
  query: URLSearchParams,
  all: readonly string[],
  show: (keys: readonly string[]) => object[],
): Answer {
  const { hidden, away, isLive } = service;
  const counted = all.filter((key) => !away.has(key) && hidden.get(key)?.isCounted !== false);
  const keys = counted.filter((key) => !hidden.has(key));
  const [limit, offset] = [Number(query.get('limit') ?? 100), Number(query.get('offset') ?? 0)];
  const next =
    offset + limit < keys.length ? `${service.url}/api/environments/1/?limit=${limit}&offset=${offset + limit}` : null;
  const results = show(keys.slice(offset, offset + limit));
  return { status: 200, json: { ...(isLive ? {} : { count: counted.length }), next, previous: null, results } };
}

function personJson({ uuid, id, createdAtMs, distinctIds, properties }: Person): object {
  // A person without properties is shown by its newest distinct id.
  const name = properties['name'] ?? properties['email'] ?? distinctIds.at(-1) ?? '';
  return { id, uuid, name, distinct_ids: distinctIds, properties, created_at: new Date(createdAtMs).toISOString() };
}

function recordingJson({ state, isLive, nowMs }: Service, recording: Recording): object {
  const { id, distinctId, startMs, endMs, expiresMs, url } = recording;
  const owner = holderOf(state, distinctId);
  const nobody = {
    id: null,
    uuid: uuidOf(distinctId),
    name: null,
    distinct_ids: distinctId,
    properties: {},
    created_at: null,
  };
  return {
    ...recordingCounts,
    id,
    distinct_id: distinctId,
    start_time: new Date(startMs).toISOString(),
    end_time: new Date(endMs).toISOString(),
    recording_duration: (endMs - startMs) / 1000,
    ...(isLive && lastingJson(expiresMs, nowMs())),
    start_url: url,
    person: owner ? { ...personJson(owner), distinct_ids: distinctId } : nobody,
  };
}

function lastingJson(expiresMs: number, nowMs: number): object {
  return { expiry_time: new Date(expiresMs).toISOString(), recording_ttl: Math.floor((expiresMs - nowMs) / dayMs) };
}

const recordingCounts = {
  viewed: false,
  viewers: [],
  active_seconds: 5,
  inactive_seconds: 55,
  click_count: 1,
  keypress_count: 0,
  mouse_activity_count: 1,
  console_log_count: 0,
  console_warn_count: 0,
  console_error_count: 0,
  storage: 'object_storage',
  snapshot_source: 'web',
  ongoing: false,
  activity_score: 1.5,
};

async function readBody(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
