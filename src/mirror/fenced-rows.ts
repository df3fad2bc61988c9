import type { Database } from 'better-sqlite3';
import type { Identifier } from '../contract/identity.ts';
import { listQuarantined } from './sightings.ts';
import { namedInRecordings } from './trim-recordings.ts';

/** An identifier in the mirror that the fence should have kept out, and a request that fenced it. */
export type FencedIdentifier = Identifier & { requestId: string };

/** Every place in the mirror where an identifier stands, by its kind. */
const places = [
  { kind: 'person_uuid', value: 'uuid', table: 'persons' },
  { kind: 'person_id', value: 'id', table: 'persons' },
  { kind: 'distinct_id', value: 'distinct_id', table: 'distinct_id_owners' },
  { kind: 'distinct_id', value: 'distinct_id', table: 'distinct_ids_lost' },
  { kind: 'recording_id', value: 'recordings.id', table: 'recordings' },
  { kind: 'person_uuid', value: 'person_uuid', table: 'recordings' },
  { kind: 'distinct_id', value: 'distinct_id', table: 'recordings' },
  { kind: 'distinct_id', value: 'named.value', table: namedInRecordings },
  { kind: 'recording_id', value: 'recording_id', table: 'playlist_recordings' },
] as const;

/**
 * Holds every identifier of the mirror against the fence, by MAC. Nothing is found in a mirror that was always its own:
 * what is, an older copy of the file has brought back. What several requests have fenced is found for each of them.
 * Reads the whole mirror once for each kind.
 */
export function findFencedIdentifiers(db: Database): FencedIdentifier[] {
  const found: FencedIdentifier[] = [];
  for (const { kind, value, table } of places) {
    // The rows outside, the fence inside: each row costs one MAC and one look-up.
    const rows = db
      .prepare<
        [],
        { value: string; requestId: string }
      >(/*sql*/ `SELECT CAST(${value} AS TEXT) AS value, request_id AS requestId
        FROM ${table} CROSS JOIN fence ON kind = '${kind}' AND mac = fence_mac('${kind}', ${value})`)
      .all();
    for (const row of rows) found.push({ kind, ...row });
  }
  const findFence = db.prepare<[string, string, string], { value: string; requestId: string }>(
    /*sql*/ `SELECT ? AS value, request_id AS requestId FROM fence WHERE kind = ? AND mac = fence_mac(kind, ?)`,
  );
  for (const { identifiers } of listQuarantined(db))
    for (const { kind, value } of identifiers)
      for (const row of findFence.all(value, kind, value)) found.push({ kind, ...row });
  return [...new Map(found.map((row) => [`${row.kind}\0${row.value}\0${row.requestId}`, row])).values()];
}
