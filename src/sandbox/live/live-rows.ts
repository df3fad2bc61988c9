import { createHash } from 'node:crypto';
import { parseExactJson } from '../../core/exact-json.ts';
import { microsToIso } from '../../core/time.ts';
import type { Playlist, Recording } from '../../contract/resources.ts';
import { distinctIdsOf, personJson, type PersonRow } from '../store/person-row.ts';

const listedDistinctIdsMax = 1000;
const recordedDistinctIdsMax = 10;
const dayMicros = 86_400_000_000;

/** True for one key in `n`, always the same keys for the same trait. */
function isOneIn(n: number, trait: string, key: string): boolean {
  return createHash('sha256').update(`${trait} ${key}`).digest().readUInt32BE() % n === 0;
}

/** A person with fields that the document does not have, and its time in milliseconds. */
export function livePersonJson(row: PersonRow): string {
  const isIdentified = !isOneIn(3, 'anonymous', row.uuid);
  const createdAtMicros = createdAtMs(row) * 1000;
  const lastSeenAt = isOneIn(4, 'unseen', row.uuid) ? 'null' : `"${microsToIso(createdAtMicros + dayMicros)}"`;
  const text = personJson({ ...row, createdAtMicros });
  return `${text.slice(0, -1)},"is_identified":${isIdentified},"last_seen_at":${lastSeenAt}}`;
}

function createdAtMs({ createdAtMicros }: PersonRow): number {
  return Math.floor(createdAtMicros / 1000);
}

/**
 * The persons of a page in the order in which the page shows them, whatever order they were selected in: newest millisecond
 * first, then by `tie`, lowest first.
 */
export function sortedWithinPage(rows: readonly PersonRow[], tie: (row: PersonRow) => string): PersonRow[] {
  return rows
    .map((row) => ({ row, ms: createdAtMs(row), tie: tie(row) }))
    .toSorted((a, b) => b.ms - a.ms || (a.tie < b.tie ? -1 : 1))
    .map(({ row }) => row);
}

/** A person as lists show it: under its uuid, with its first 1,000 distinct ids. */
export function listedPersonJson(row: PersonRow): string {
  const text = livePersonJson({ ...row, distinctIds: firstOf(row.distinctIds, listedDistinctIdsMax) });
  return text.replace(/^\{"id":\d+/, `{"id":"${row.uuid}"`);
}

/** The namespace of the uuids that a live service gives to persons. */
const personNamespace = '932979b4-65c3-4424-8467-0b66ec27bc22';

/** A distinct id that no person has, as a recording shows it: with the uuid that a person would have who is made of it. */
export function missingPersonJson(distinctId: string, projectId: string): string {
  const uuid = uuidFromName(personNamespace, `${projectId}:${distinctId}`);
  return JSON.stringify({ id: null, name: null, distinct_ids: [distinctId], properties: {}, created_at: null, uuid });
}

/** The UUID of version 5 of a name (RFC 9562). */
function uuidFromName(namespace: string, name: string): string {
  const bytes = createHash('sha1')
    .update(Buffer.from(namespace.replaceAll('-', ''), 'hex'))
    .update(name)
    .digest();
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** A person as a recording shows it, with ten distinct ids at most. */
export function recordedPersonJson(person: PersonRow): string {
  return livePersonJson({ ...person, distinctIds: firstOf(person.distinctIds, recordedDistinctIdsMax) });
}

const dayMs = 86_400_000;

/**
 * A recording as it is served at a time, with this person. Some rows lack `storage`, and some have null for a documented value. All count
 * the days until they end.
 */
export function liveRecordingJson(
  document: string,
  shownPerson: string,
  { atMs, retentionDays }: { atMs: number; retentionDays: number },
): string {
  const { person: _then, ...recording } = parseExactJson(document) as Recording;
  const { id } = recording;
  const endsMs = Date.parse(recording.start_time) + retentionDays * dayMs;
  const text = JSON.stringify({
    ...recording,
    ...(isOneIn(4, 'storage', id) && { storage: undefined }),
    ...(isOneIn(8, 'activity_score', id) && { activity_score: null }),
    ...(isOneIn(16, 'start_url', id) && { start_url: null }),
    expiry_time: new Date(endsMs).toISOString(),
    recording_ttl: Math.max(0, Math.floor((endsMs - atMs) / dayMs)),
  });
  return `${text.slice(0, -1)},"person":${shownPerson}}`;
}

/** A playlist whose users and counts lack values, with a field that the document does not have. */
export function livePlaylistJson(text: string): string {
  const playlist = parseExactJson(text) as Playlist;
  const isOrphan = isOneIn(4, 'orphan', playlist.short_id);
  return JSON.stringify({
    ...playlist,
    created_by: isOrphan ? null : withNulls(playlist.created_by),
    last_modified_by: withNulls(playlist.last_modified_by),
    recordings_counts: { ...playlist.recordings_counts, saved_filters: { count: null, has_more: null } },
    type: 'collection',
  });
}

function withNulls(user: Playlist['created_by']): object {
  return { ...user, is_email_verified: null, hedgehog_config: null, role_at_organization: null };
}

/** The first distinct ids of a JSON list, as a JSON list. */
export function firstOf(distinctIds: string, countMax: number): string {
  const ids = distinctIdsOf({ distinctIds });
  return ids.length <= countMax ? distinctIds : JSON.stringify(ids.slice(0, countMax));
}
