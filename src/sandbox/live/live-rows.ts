import { createHash } from 'node:crypto';
import { parseExactJson } from '../../core/exact-json.ts';
import type { Playlist, Recording } from '../../contract/resources.ts';
import { distinctIdsOf, personJson, type PersonRow } from '../store/person-row.ts';

const listedDistinctIdsMax = 1000;
const recordedDistinctIdsMax = 10;

/** True for one key in `n`, always the same keys for the same trait. */
function isOneIn(n: number, trait: string, key: string): boolean {
  return createHash('sha256').update(`${trait} ${key}`).digest().readUInt32BE() % n === 0;
}

/** A person with fields that the document does not have. */
export function livePersonJson(row: PersonRow): string {
  const isIdentified = !isOneIn(3, 'anonymous', row.uuid);
  return `${personJson(row).slice(0, -1)},"is_identified":${isIdentified},"last_seen_at":null}`;
}

/** A person as the unfiltered list shows it: under its uuid, with its first 1,000 distinct ids. */
export function listedPersonJson(row: PersonRow): string {
  const text = livePersonJson({ ...row, distinctIds: firstOf(row.distinctIds, listedDistinctIdsMax) });
  return text.replace(/^\{"id":\d+/, `{"id":"${row.uuid}"`);
}

/**
 * A recording as it is served. `person` is the person that has its distinct id now, with ten distinct ids at most, or
 * null. Some rows lack `storage`, and some have null for a documented value.
 */
export function liveRecordingJson(document: string, person: PersonRow | undefined): string {
  const { person: _then, ...recording } = parseExactJson(document) as Recording;
  const { id } = recording;
  const text = JSON.stringify({
    ...recording,
    ...(isOneIn(4, 'storage', id) && { storage: undefined }),
    ...(isOneIn(8, 'activity_score', id) && { activity_score: null }),
    ...(isOneIn(16, 'start_url', id) && { start_url: null }),
    expiry_time: null,
    recording_ttl: 30,
  });
  const shown =
    person === undefined
      ? 'null'
      : livePersonJson({ ...person, distinctIds: firstOf(person.distinctIds, recordedDistinctIdsMax) });
  return `${text.slice(0, -1)},"person":${shown}}`;
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
