import { isJsonObject, parseExactJson } from '../core/exact-json.ts';
import { textLeaves } from '../core/json-leaves.ts';
import { embeddedPerson } from '../contract/embedded-person.ts';
import type { Identifier } from '../contract/identity.ts';

/**
 * What a row that could not be read may be about: each of its texts as any kind, in lower case as a uuid, and the integer
 * id where a person's stands. `key` is what it is kept under. Throws when the payload is not JSON.
 */
export function identifiersOfUnread(dataset: string, key: string | null, payload: string): Identifier[] {
  const row: unknown = parseExactJson(payload);
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
