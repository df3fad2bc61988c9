import type { Database } from 'better-sqlite3';
import { embeddedPerson } from '../contract/embedded-person.ts';
import { textListOf } from '../contract/tolerant-reader.ts';
import {
  identifierKinds,
  nobody,
  type Identifier,
  type Identity,
  type Sighting,
} from '../contract/identity.ts';
import { namedInRecordings } from './trim-recordings.ts';
import { identifiersOfUnread } from './unread-identifiers.ts';

/** What is asked of people who are to be found by something else than an identifier. */
export type Email = string;

/** The uuids of the persons whose property `email` is one of these, whatever the case of letters. */
export function findPersonsByEmail(db: Database, emails: readonly Email[]): Map<Email, string[]> {
  const found = new Map<Email, string[]>();
  if (emails.length === 0) return found;
  const rows = db
    .prepare<[string], { email: string; uuid: string }>(/*sql*/ `SELECT wanted.value AS email, uuid
      FROM persons JOIN json_each(?) AS wanted ON lower(persons.properties ->> '$.email') = lower(wanted.value)`)
    .all(JSON.stringify(emails));
  for (const { email, uuid } of rows) found.set(email, [...(found.get(email) ?? []), uuid]);
  return found;
}

/** Every row of persons that an identity matches: by uuid, by integer id, or by a distinct id that it holds now. */
export function findPersons(db: Database, identity: Identity): (Sighting & { createdAt: string | null })[] {
  return db
    .prepare<
      Identity,
      PersonRow
    >(/*sql*/ `SELECT uuid, CAST(id AS TEXT) AS id, name, distinct_ids, properties, extra, created_at
      FROM persons WHERE row_key IN (
        SELECT row_key FROM persons WHERE uuid IN (SELECT value FROM json_each(@person_uuid))
        UNION SELECT row_key FROM persons WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(@person_id))
        UNION SELECT person_row_key FROM distinct_id_owners
          WHERE distinct_id IN (SELECT value FROM json_each(@distinct_id)))
      ORDER BY uuid`)
    .all(asJson(identity) as never)
    .map((row) => ({
      person_uuid: row.uuid,
      person_id: row.id,
      distinct_ids: textListOf(row.distinct_ids) ?? [],
      recording_id: null,
      values: present([row.name, row.properties, row.extra]),
      createdAt: row.created_at,
    }));
}

type PersonRow = {
  uuid: string;
  id: string | null;
  name: string | null;
  distinct_ids: string | null;
  properties: string | null;
  extra: string | null;
  created_at: string | null;
};

/** What persons have lost to others: the distinct ids of these uuids, and the uuids that have lost these distinct ids. */
export function findLostDistinctIds(db: Database, identity: Identity): Sighting[] {
  return db
    .prepare<Identity, { uuid: string; distinctId: string }>(/*sql*/ `SELECT uuid, distinct_id AS distinctId
      FROM distinct_ids_lost JOIN persons ON persons.row_key = person_row_key
      WHERE uuid IN (SELECT value FROM json_each(@person_uuid))
        OR distinct_id IN (SELECT value FROM json_each(@distinct_id))`)
    .all(asJson(identity) as never)
    .map(({ uuid, distinctId }) => ({
      person_uuid: uuid,
      person_id: null,
      distinct_ids: [distinctId],
      recording_id: null,
      values: [],
    }));
}

/**
 * Every row of recordings that an identity matches, with the person that it embeds, and the distinct id that it was
 * recorded under. Reads every recording.
 */
export function findRecordings(
  db: Database,
  identity: Identity,
): (Sighting & { recordedUnder: string | null })[] {
  return db
    .prepare<
      Identity,
      RecordingRow
    >(/*sql*/ `SELECT id, distinct_id, person_uuid, start_url, person, extra FROM recordings
      WHERE id IN (SELECT value FROM json_each(@recording_id))
        OR person_uuid IN (SELECT value FROM json_each(@person_uuid))
        OR distinct_id IN (SELECT value FROM json_each(@distinct_id))
      ORDER BY id`)
    .all(asJson(identity) as never)
    .map((row) => ({
      person_uuid: row.person_uuid,
      person_id: null,
      distinct_ids: [...new Set([...present([row.distinct_id]), ...embeddedPerson(row.person).distinctIds])],
      recording_id: row.id,
      recordedUnder: row.distinct_id,
      values: present([row.start_url, row.person, row.extra]),
    }));
}

/** Recordings that embed a person with one of an identity's distinct ids, whoever they are of. Reads every recording. */
export function findRecordingsThatName(db: Database, identity: Identity): Sighting[] {
  if (identity.distinct_id.length === 0) return [];
  const ids = db
    .prepare<[string], string>(/*sql*/ `SELECT DISTINCT recordings.id FROM ${namedInRecordings}
      WHERE named.value IN (SELECT value FROM json_each(?))`)
    .pluck()
    .all(JSON.stringify(identity.distinct_id));
  return findRecordings(db, { ...nobody, recording_id: ids });
}

type RecordingRow = {
  id: string;
  distinct_id: string | null;
  person_uuid: string | null;
  start_url: string | null;
  person: string | null;
  extra: string | null;
};

/** A row that could not be read, and what it may be about. */
export type QuarantinedSighting = {
  dataset: string;
  rowId: string;
  identifiers: Identifier[];
  values: string[];
};

/** The rows in quarantine that may be about an identity. */
export function findQuarantined(db: Database, identity: Identity): QuarantinedSighting[] {
  const isNamed = prepareNames(identity);
  const found: QuarantinedSighting[] = [];
  for (const row of listQuarantined(db)) if (isNamed(row.identifiers)) found.push(row);
  return found;
}

/** Every row in quarantine, with what it may be about; read one at a time, as large as they may be. */
export function* listQuarantined(db: Database): Generator<QuarantinedSighting> {
  const next = db.prepare<
    [string, string],
    { dataset: string; rowId: string; payload: string }
  >(/*sql*/ `SELECT dataset, row_id AS rowId, payload FROM quarantine WHERE (dataset, row_id) > (?, ?)
      ORDER BY dataset, row_id LIMIT 1`);
  for (let row = next.get('', ''); row; row = next.get(row.dataset, row.rowId)) {
    const { dataset, rowId, payload } = row;
    yield { dataset, rowId, identifiers: identifiersOfUnread(dataset, rowId, payload), values: [payload] };
  }
}

/** Prepares the question whether any of some identifiers is one of an identity. */
export function prepareNames(identity: Identity): (identifiers: readonly Identifier[]) => boolean {
  const names = new Set(identifierKinds.flatMap((kind) => identity[kind].map((value) => `${kind} ${value}`)));
  return (identifiers) => identifiers.some(({ kind, value }) => names.has(`${kind} ${value}`));
}

/** In which playlists recordings are, as far as the mirror knows. */
export function findMemberships(
  db: Database,
  identity: Identity,
): { shortId: string; recordingId: string }[] {
  return db
    .prepare<
      [string],
      { shortId: string; recordingId: string }
    >(/*sql*/ `SELECT short_id AS shortId, recording_id AS recordingId
      FROM playlist_recordings WHERE recording_id IN (SELECT value FROM json_each(?)) ORDER BY 1, 2`)
    .all(JSON.stringify(identity.recording_id));
}

function asJson(identity: Identity): Record<keyof Identity, string> {
  return {
    person_uuid: JSON.stringify(identity.person_uuid),
    person_id: JSON.stringify(identity.person_id),
    distinct_id: JSON.stringify(identity.distinct_id),
    recording_id: JSON.stringify(identity.recording_id),
  };
}

function present(values: readonly (string | null)[]): string[] {
  return values.filter((value) => value !== null && value !== '') as string[];
}
