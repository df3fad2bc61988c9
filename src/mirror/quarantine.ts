import type { Database } from 'better-sqlite3';
import { sha256 } from '../core/digest.ts';
import { isJsonObject, parseExactJson, textLeaves, type JsonObject } from '../core/exact-json.ts';
import { embeddedPerson } from '../contract/embedded-person.ts';
import {
  identifierKinds,
  type Identifier,
  type IdentifierKind,
  type Identity,
  type Sighting,
} from '../contract/identity.ts';
import { readIdentityOfPerson } from '../contract/row-readers.ts';
import { textListOf } from '../contract/tolerant-reader.ts';
import { findDataset, keyKind, type MirroredDataset, type PagedDataset } from '../contract/datasets.ts';

/** A row that could not be read. `payload` is its JSON text, but for what is nested too deeply, and where it is too large. */
export type QuarantinedRow = { key: string | null; reason: string; payload: string };

/** So many rows of one list, and so many bytes of their payloads together, are kept at most. */
const quarantineMax = { rows: 10_000, bytes: 64 * 1024 * 1024 };

/** The rows of one list that could not be read. Both functions belong into the page's transaction. */
export type Quarantine = {
  /** Keeps a row; false, and nothing is kept, where rows of the same pass leave no room for it. Rows of earlier ones make room. */
  add(row: QuarantinedRow, passId: number, at: string): boolean;
  /** Forgets rows that have now been read. Costs nothing while nothing of the list is in quarantine. */
  release(key: string): void;
};

/** Prepares the quarantine of one dataset. */
export function prepareQuarantine(db: Database, dataset: MirroredDataset): Quarantine {
  const bytesOf = new Map(
    db
      .prepare<[string], [rowId: string, bytes: number]>(
        /*sql*/ `SELECT row_id, octet_length(payload) FROM quarantine WHERE dataset = ?`,
      )
      .raw()
      .all(dataset),
  );
  let bytesHeld = bytesOf.values().reduce((sum, bytes) => sum + bytes, 0);
  const note = (rowId: string, bytes: number): void => {
    bytesHeld += bytes - (bytesOf.get(rowId) ?? 0);
    bytesOf.set(rowId, bytes);
  };
  const forget = (rowId: string): void => {
    note(rowId, 0);
    bytesOf.delete(rowId);
  };
  const add =
    db.prepare(/*sql*/ `INSERT INTO quarantine (dataset, row_id, reason, payload, first_seen_pass, last_seen_pass, seen_at)
      VALUES (@dataset, @rowId, @reason, @payload, @passId, @passId, @at)
      ON CONFLICT (dataset, row_id) DO UPDATE SET reason = excluded.reason, payload = excluded.payload,
        last_seen_pass = excluded.last_seen_pass, seen_at = excluded.seen_at`);
  const remove = db.prepare<[string, string]>(/*sql*/ `DELETE FROM quarantine WHERE dataset = ? AND row_id = ?`);
  const removeOlder = db
    .prepare<[string, number], string>(
      /*sql*/ `DELETE FROM quarantine WHERE dataset = ? AND last_seen_pass < ? RETURNING row_id`,
    )
    .pluck();
  const hasRoom = (rowId: string, bytes: number): boolean =>
    (bytesOf.has(rowId) || bytesOf.size < quarantineMax.rows) &&
    bytesHeld - (bytesOf.get(rowId) ?? 0) + bytes <= quarantineMax.bytes;
  let clearedFor: number | undefined;
  return {
    add: ({ key, reason, payload }, passId, at) => {
      const rowId = key ?? digestOf(payload);
      const bytes = Buffer.byteLength(payload);
      // No pass would ever be complete, and forget them, while what is shown no more keeps the room.
      if (!hasRoom(rowId, bytes) && clearedFor !== passId)
        for (const older of removeOlder.all(dataset, (clearedFor = passId))) forget(older);
      if (!hasRoom(rowId, bytes)) return false;
      add.run({ dataset, rowId, reason, payload, passId, at });
      note(rowId, bytes);
      return true;
    },
    release: (key) => {
      if (!bytesOf.has(key)) return;
      forget(key);
      remove.run(dataset, key);
    },
  };
}

/** What a row without a key is kept under. */
function digestOf(payload: string): string {
  return `sha256:${sha256(payload)}`;
}

/** How many rows of each dataset wait in quarantine. */
export function countQuarantine(db: Database): Record<string, number> {
  const sql = /*sql*/ `SELECT dataset, count(*) AS rows FROM quarantine GROUP BY dataset`;
  const rows = db.prepare<[], { dataset: string; rows: number }>(sql).all();
  return Object.fromEntries(rows.map(({ dataset, rows: count }) => [dataset, count]));
}

/** A row that could not be read: the identifiers that it may hold, and what of its person (`sure`) could be read all the same. */
export type QuarantinedSighting = {
  dataset: string;
  rowId: string;
  identifiers: Identifier[];
  sure: Sighting;
  values: string[];
};

/** The rows in quarantine that may be about an identity, or show one of some e-mail addresses. */
export function findQuarantined(
  db: Database,
  identity: Identity,
  emails: ReadonlySet<string> = new Set(),
): QuarantinedSighting[] {
  const isNamed = prepareNames(identity);
  const isFound = ({ identifiers, sure }: QuarantinedSighting): boolean =>
    isNamed(identifiers) || emails.has(sure.email ?? '');
  return listQuarantined(db).filter(isFound).toArray();
}

/** Every row in quarantine; read one at a time, as large as they may be. */
function* payloadsIn(db: Database): Generator<{ dataset: string; rowId: string; payload: string }> {
  const sql = /*sql*/ `SELECT dataset, row_id AS rowId, payload FROM quarantine WHERE (dataset, row_id) > (?, ?)
      ORDER BY dataset, row_id LIMIT 1`;
  const next = db.prepare<[string, string], { dataset: string; rowId: string; payload: string }>(sql);
  for (let row = next.get('', ''); row; row = next.get(row.dataset, row.rowId)) yield row;
}

/** Every row in quarantine, with what it may be about. */
export function* listQuarantined(db: Database): Generator<QuarantinedSighting> {
  for (const { dataset, rowId, payload } of payloadsIn(db)) {
    const identifiers = identifiersOfUnread(dataset, rowId, payload);
    yield { dataset, rowId, identifiers, sure: sureOf(dataset, payload), values: [payload] };
  }
}

/** What rows of a dataset show that could not be read, though their identifiers can. */
export function unreadRows(db: Database, dataset: PagedDataset): Sighting[] {
  return payloadsIn(db)
    .filter((row) => row.dataset === dataset)
    .map(({ payload }) => sureOf(dataset, payload))
    .filter(({ person_uuid: uuid, recording_id: id }) => (uuid ?? id) !== null)
    .toArray();
}

/** Prepares the question whether any of some identifiers is one of an identity. */
export function prepareNames(identity: Identity): (identifiers: readonly Identifier[]) => boolean {
  // Made when it is first asked: a large person has a million identifiers, and mostly nothing is in quarantine.
  let names: Map<IdentifierKind, Set<string>> | undefined;
  return (identifiers) => {
    const known = (names ??= new Map(identifierKinds.map((kind) => [kind, new Set(identity[kind])])));
    return identifiers.some(({ kind, value }) => known.get(kind)?.has(value));
  };
}

/**
 * How many characters are kept of a row that identifies its person, and of one that does not: each of its texts may be an
 * identifier.
 */
const [identifiedCharactersMax, unidentifiedCharactersMax] = [1_000_000, 20_000];

/**
 * What a row that could not be read may be about: who it is, where that much of it can be read; else each of its texts
 * as any kind, in lower case as a uuid, and the integer id where a person's stands. `key` is what it is kept under. Throws
 * when the payload is not JSON. The key of a row without one can be fenced too, as a distinct id.
 */
export function identifiersOfUnread(dataset: string, key: string | null, payload: string): Identifier[] {
  const row: unknown = parseExactJson(payload);
  const known = identityOf(dataset, row);
  if (known) return known;
  const identifiers: Identifier[] = [];
  for (const value of new Set([key ?? digestOf(payload), ...textLeaves(row)]))
    identifiers.push(
      { kind: 'person_uuid', value: value.toLowerCase() },
      { kind: 'distinct_id', value },
      { kind: 'recording_id', value },
    );
  const { id } = embeddedPerson(personIn(dataset, row, payload));
  return id === null ? identifiers : [...identifiers, { kind: 'person_id', value: id }];
}

/** The identifiers and the e-mail address of the person that a row shows, as far as they can be read. */
function sureOf(dataset: string, payload: string): Sighting {
  const row: unknown = parseExactJson(payload);
  const known = identityOf(dataset, row) ?? [];
  const first = (wanted: IdentifierKind): string | null => known.find(({ kind }) => kind === wanted)?.value ?? null;
  const { id, distinctIds, email } = embeddedPerson(personIn(dataset, row, payload));
  return {
    person_uuid: first('person_uuid'),
    person_id: first('person_id') ?? id,
    // Of a recording, the distinct id that it was made under stands first.
    distinct_ids: [
      ...new Set([...known.flatMap(({ kind, value }) => (kind === 'distinct_id' ? value : [])), ...distinctIds]),
    ],
    recording_id: first('recording_id'),
    values: [],
    ...(email === undefined ? {} : { email }),
  };
}

/** The JSON text of the person that a row shows; null where its dataset shows none. */
function personIn(dataset: string, row: unknown, payload: string): string | null {
  const { identifiers = [], embeddedPerson: field = null } = findDataset(dataset) ?? {};
  if (identifiers.length === 0) return null;
  return field !== null && isJsonObject(row) ? JSON.stringify(row[field] ?? null) : payload;
}

/** The row as it is kept: without its payload where that is very large, or large and not telling who it is about. */
export function boundUnread<Row extends { payload: string }>(dataset: string, row: Row): Row {
  const { length } = row.payload;
  if (length <= unidentifiedCharactersMax) return row;
  if (length <= identifiedCharactersMax && identityOf(dataset, parseExactJson(row.payload))) return row;
  return { ...row, payload: '"too large to be kept"' };
}

/** The identifiers of a row, if all of its identifying fields can be read. Its other texts may name other persons. */
function identityOf(dataset: string, row: unknown): Identifier[] | undefined {
  const kind = keyKind(dataset);
  if (!isJsonObject(row) || kind === undefined) return undefined;
  return kind === 'recording_id' ? identityOfRecording(row) : identityOfPerson(row);
}

function identityOfPerson(row: JsonObject): Identifier[] | undefined {
  const person = readIdentityOfPerson(row);
  if (!person.ok) return undefined;
  const { uuid, id, distinct_ids: distinctIds } = person.columns;
  return [
    { kind: 'person_uuid', value: String(uuid) },
    ...(id === null || id === undefined ? [] : [{ kind: 'person_id' as const, value: String(id) }]),
    ...(textListOf(distinctIds) ?? []).map((value) => ({ kind: 'distinct_id' as const, value })),
  ];
}

function identityOfRecording({
  id,
  distinct_id: distinctId = null,
  person = null,
}: JsonObject): Identifier[] | undefined {
  if (typeof id !== 'string' || (distinctId !== null && typeof distinctId !== 'string')) return undefined;
  const viewed = person === null ? [] : isJsonObject(person) ? identityOfPerson(person) : undefined;
  return (
    viewed && [
      { kind: 'recording_id', value: id },
      ...(distinctId === null ? [] : [{ kind: 'distinct_id' as const, value: distinctId }]),
      ...viewed,
    ]
  );
}
