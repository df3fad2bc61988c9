import { isJsonObject, parseExactJson, textLeaves, type JsonObject } from '../core/exact-json.ts';
import { embeddedPerson } from '../contract/embedded-person.ts';
import type { Identifier } from '../contract/identity.ts';
import { textListOf } from '../contract/tolerant-reader.ts';
import { readIdentityOfPerson } from '../contract/person-identity.ts';

/** Of a row that does not tell who it is about, so much is kept: each of its texts may be somebody. */
const unidentifiedCharactersMax = 20_000;

/**
 * What a row that could not be read may be about: who it is, where that much of it can be read; else each of its texts
 * as any kind, in lower case as a uuid, and the integer id where a person's stands. `key` is what it is kept under. Throws
 * when the payload is not JSON.
 */
export function identifiersOfUnread(dataset: string, key: string | null, payload: string): Identifier[] {
  const row: unknown = parseExactJson(payload);
  const told = identityOf(dataset, row);
  if (told) return told;
  const identifiers: Identifier[] = [];
  for (const value of new Set([...(key === null ? [] : [key]), ...textLeaves(row)]))
    identifiers.push(
      { kind: 'person_uuid', value: value.toLowerCase() },
      { kind: 'distinct_id', value },
      { kind: 'recording_id', value },
    );
  const person =
    dataset === 'recordings' && isJsonObject(row) ? JSON.stringify(row['person'] ?? null) : payload;
  const { id } = embeddedPerson(dataset === 'playlists' ? null : person);
  return id === null ? identifiers : [...identifiers, { kind: 'person_id', value: id }];
}

/** The row as it is kept: without its payload where that is large and does not tell who it is about. */
export function boundUnread<Row extends { payload: string }>(dataset: string, row: Row): Row {
  if (row.payload.length <= unidentifiedCharactersMax) return row;
  if (identityOf(dataset, parseExactJson(row.payload))) return row;
  return { ...row, payload: '"too large to be kept"' };
}

/** Who a row is about, where all that says so can be read; whatever else it holds are other people's words. */
function identityOf(dataset: string, row: unknown): Identifier[] | undefined {
  if (!isJsonObject(row)) return undefined;
  if (dataset === 'persons') return identityOfPerson(row);
  if (dataset === 'recordings') return identityOfRecording(row);
  return undefined;
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
