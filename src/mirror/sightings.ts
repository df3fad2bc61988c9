import type { Database } from 'better-sqlite3';
import { datasets, emailPlace, pagedDatasets, type PagedDataset } from '../contract/datasets.ts';
import { emailKey } from '../contract/email.ts';
import { identifierKinds, nobody, partsOf } from '../contract/identity.ts';
import type { IdentifierKind, Identity, Sighting } from '../contract/identity.ts';
import { sightingsOf } from '../contract/row-readers.ts';
import type { Columns, ColumnValue } from '../contract/tolerant-reader.ts';
import { prepared } from './prepared.ts';
import { columnsOf } from './tables.ts';

/**
 * Every row of persons and recordings that shows one of some e-mail addresses (as `emailKey` spells them), those of some
 * thousands of rows at a time. Other work may go on between. Reads every row. `onlyUnnamed`: only rows without the uuid of a
 * person.
 */
export function* findEmails(
  db: Database,
  emails: ReadonlySet<string>,
  { onlyUnnamed }: { onlyUnnamed: boolean },
): Generator<Sighting[]> {
  if (emails.size === 0) return;
  for (const dataset of pagedDatasets) {
    if (onlyUnnamed && dataset === 'persons') continue;
    const { key } = datasets[dataset];
    const { column, path } = emailPlace(dataset);
    const last = db.prepare<[], number>(/*sql*/ `SELECT max(row_key) FROM ${dataset}`).pluck().get() ?? 0;
    const sql = /*sql*/ `SELECT ${key} AS key, ${column} ->> '${path}' AS email FROM ${dataset}
          WHERE row_key > ? AND row_key <= ?
            AND ${onlyUnnamed ? 'person_uuid IS NULL AND ' : ''}instr(${column}, '"email"') > 0`;
    const some = db.prepare<[number, number], { key: string; email: ColumnValue }>(sql);
    for (let after = 0; after < last; after += rowsAtOnce) {
      const keys: string[] = [];
      for (const { key: found, email } of some.iterate(after, after + rowsAtOnce))
        if (typeof email === 'string' && emails.has(emailKey(email))) keys.push(found);
      if (keys.length === 0) yield [];
      else if (dataset === 'persons') yield findPersons(db, { ...nobody, person_uuid: keys });
      else yield* findRecordingsInParts(db, { ...nobody, recording_id: keys });
    }
  }
}

/** Every row of persons that an identity matches: by uuid, by integer id, or by a distinct id that it holds now. */
export function findPersons(db: Database, identity: Identity): (Sighting & { createdAt: string | null })[] {
  return findRows(
    db,
    'persons',
    identity,
    /*sql*/ `row_key IN (
        SELECT row_key FROM persons WHERE uuid IN (SELECT value FROM json_each(@person_uuid))
        UNION SELECT row_key FROM persons WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(@person_id))
        UNION SELECT person_row_key FROM distinct_id_owners
          WHERE distinct_id IN (SELECT value FROM json_each(@distinct_id)))`,
    ({ created_at: createdAt }, sighting) =>
      Object.assign(sighting, { createdAt: typeof createdAt === 'string' ? createdAt : null }),
  );
}

/** The persons, by uuid, that were merged into any of these, or into one that was, and have not come back since. */
export function findFormerUuids(db: Database, uuids: readonly string[]): string[] {
  const sql = /*sql*/ `WITH RECURSIVE subject (uuid) AS (SELECT value FROM json_each(?)
      UNION SELECT key FROM subject JOIN deletions AS merger ON merged_into = uuid
        WHERE NOT EXISTS (SELECT 1 FROM deletions AS later
            WHERE later.dataset = 'persons' AND later.key = merger.key AND later.seq > merger.seq)
          AND NOT EXISTS (SELECT 1 FROM persons WHERE persons.uuid = merger.key))
    SELECT uuid FROM subject`;
  const given = new Set(uuids);
  const found = prepared<[string], string>(db, sql).pluck().all(JSON.stringify(uuids));
  return found.filter((uuid) => !given.has(uuid));
}

/** What persons have lost to others: the distinct ids of these uuids, and the uuids that have lost these distinct ids. */
export function findLostDistinctIds(db: Database, identity: Identity): Sighting[] {
  const sql = /*sql*/ `SELECT uuid, distinct_id AS distinctId
      FROM distinct_ids_lost JOIN persons ON persons.row_key = person_row_key
      WHERE uuid IN (SELECT value FROM json_each(@person_uuid))
        OR distinct_id IN (SELECT value FROM json_each(@distinct_id))`;
  return db
    .prepare<Record<IdentifierKind, string>, { uuid: string; distinctId: string }>(sql)
    .all(asJson(identity))
    .map(({ uuid, distinctId }) => ({
      person_uuid: uuid,
      person_id: null,
      distinct_ids: [distinctId],
      recording_id: null,
      values: [],
    }));
}

/** Every recording that an identity matches, with its embedded person and `recordedUnder`. By anything but its id: reads all recordings. */
export function findRecordings(db: Database, identity: Identity): (Sighting & { recordedUnder: string | null })[] {
  return findRows(
    db,
    'recordings',
    identity,
    /*sql*/ `row_key IN (
        SELECT row_key FROM recordings WHERE id IN (SELECT value FROM json_each(@recording_id))
        UNION SELECT row_key FROM recordings WHERE (@person_uuid <> '[]' OR @distinct_id <> '[]')
          AND (person_uuid IN (SELECT value FROM json_each(@person_uuid))
            OR distinct_id IN (SELECT value FROM json_each(@distinct_id))))`,
    (row, sighting) =>
      Object.assign(sighting, {
        recordedUnder: row['distinct_id'] === null ? null : (sighting.distinct_ids[0] ?? null),
      }),
  );
}

/**
 * What the rows of a dataset show that a condition (SQL over `@person_uuid` and the like, JSON lists) holds for, in key
 * order. A row is in memory only until it was read.
 */
function findRows<T>(
  db: Database,
  dataset: PagedDataset,
  identity: Identity,
  condition: string,
  withMore: (row: Columns, sighting: Sighting) => T,
): T[] {
  const sql = /*sql*/ `SELECT ${columnsOf(dataset)} FROM ${dataset}
    WHERE ${condition} ORDER BY ${datasets[dataset].key}`;
  const rows = db.prepare<Record<IdentifierKind, string>, Columns>(sql).safeIntegers().iterate(asJson(identity));
  const read = sightingsOf(dataset);
  return Array.from(rows, (row) => withMore(row, read(row)));
}

/**
 * Every recording that an identity matches, and those of others that embed a person with one of its distinct ids, some at a
 * time: one person can have a million. Other work may go on between. Recordings are looked up by their ids, and for the rest
 * all recordings are read.
 */
export function* findRecordingsInParts(db: Database, identity: Identity): Generator<Sighting[]> {
  const read = sightingsOf('recordings');
  const columns = columnsOf('recordings');
  const sql = /*sql*/ `SELECT ${columns} FROM recordings WHERE id IN (SELECT value FROM json_each(?))`;
  const byId = db.prepare<[string], Columns>(sql);
  const { person_uuid, distinct_id, recording_id: ids } = identity;
  for (let first = 0; first < ids.length; first += idsAtOnce)
    yield Array.from(byId.iterate(JSON.stringify(ids.slice(first, first + idsAtOnce))), read);
  if (person_uuid.length + distinct_id.length === 0) return;
  const isFound = `${isSought('person_uuid', 'person_uuid')} OR ${isSought('distinct_id', 'distinct_id')} OR ${namesSought}`;
  yield* recordingsInParts(db, { person_uuid, distinct_id }, columns, isFound, read);
}

/** So many are looked up in some hundredths of a second. */
const idsAtOnce = 2_000;

/** What playlists show of the recordings that an identity matches, some at a time. The mirror need not have these recordings. */
export function* findListedInParts(db: Database, identity: Identity): Generator<Sighting[]> {
  const read = sightingsOf('recordings');
  const sql = /*sql*/ `SELECT recording_id AS id, person_uuid, distinct_id FROM playlist_recordings
      WHERE recording_id IN (SELECT value FROM json_each(@recording_id))
        OR person_uuid IN (SELECT value FROM json_each(@person_uuid))
        OR distinct_id IN (SELECT value FROM json_each(@distinct_id))`;
  const find = db.prepare<Record<IdentifierKind, string>, Columns>(sql);
  for (const some of partsOf(identity, idsAtOnce)) yield find.all(asJson(some)).map(read);
}

/** In which playlists recordings are, as far as the mirror knows. */
export function findMemberships(
  db: Database,
  recordingIds: readonly string[],
): { shortId: string; recordingId: string }[] {
  const sql = /*sql*/ `SELECT short_id AS shortId, recording_id AS recordingId FROM playlist_recordings
      WHERE recording_id IN (SELECT value FROM json_each(?)) ORDER BY 1, 2`;
  return db.prepare<[string], { shortId: string; recordingId: string }>(sql).all(JSON.stringify(recordingIds));
}

function asJson(identity: Identity): Record<IdentifierKind, string> {
  const lists = identifierKinds.map((kind) => [kind, JSON.stringify(identity[kind])]);
  return Object.fromEntries(lists) as Record<IdentifierKind, string>;
}

/** SQL: whether a value is one of the identifiers of a kind that are sought. */
function isSought(kind: 'person_uuid' | 'distinct_id', value: string): string {
  return /*sql*/ `EXISTS (SELECT 1 FROM temp.sought WHERE kind = '${kind}' AND sought.value = ${value})`;
}

/** SQL: whether a recording embeds a person with a distinct id that is sought. */
export const namesSought = /*sql*/ `EXISTS (SELECT 1 FROM json_each(person, '$.distinct_ids') AS named
  WHERE typeof(named.value) = 'text' AND ${isSought('distinct_id', 'named.value')})`;

/** So many rows take some hundredths of a second. */
const rowsAtOnce = 5_000;

/**
 * What stands in the recordings that a condition holds for (SQL, over the identifiers that are sought), those of some thousands
 * of rows at a time. Other work may go on between. Reads all recordings. What is sought is a table: a list would be read again
 * by each statement.
 */
export function* recordingsInParts<Read>(
  db: Database,
  sought: Partial<Identity>,
  columns: string,
  condition: string,
  read: (row: Columns) => Read,
): Generator<Read[]> {
  db.exec(/*sql*/ `CREATE TEMP TABLE sought (kind TEXT, value TEXT, PRIMARY KEY (kind, value)) WITHOUT ROWID`);
  try {
    const fill = db.prepare(/*sql*/ `INSERT OR IGNORE INTO temp.sought SELECT ?, value FROM json_each(?)`);
    for (const kind of identifierKinds) fill.run(kind, JSON.stringify(sought[kind] ?? []));
    const last = db.prepare<[], number>(/*sql*/ `SELECT max(row_key) FROM recordings`).pluck().get() ?? 0;
    const sql = /*sql*/ `SELECT ${columns} FROM recordings WHERE row_key > ? AND row_key <= ? AND (${condition})`;
    const some = db.prepare<[number, number], Columns>(sql);
    for (let after = 0; after < last; after += rowsAtOnce)
      yield Array.from(some.iterate(after, after + rowsAtOnce), read);
  } finally {
    db.exec(/*sql*/ `DROP TABLE temp.sought`);
  }
}
