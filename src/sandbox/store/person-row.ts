import { textListOf } from '../../contract/tolerant-reader.ts';
import { microsToIso } from './micros.ts';

/** A person as it is stored. `distinctIds` and `properties` are JSON text. */
export type PersonRow = {
  id: number;
  uuid: string;
  name: string;
  createdAtMicros: number;
  distinctIds: string;
  properties: string;
};

/** The columns of a `PersonRow`, selected from `persons`. */
export const personColumns = /*sql*/ `
  persons.id, persons.uuid, persons.name, persons.created_at_us AS createdAtMicros, persons.properties,
  (SELECT json_group_array(distinct_id ORDER BY position)
   FROM person_distinct_ids WHERE person_id = persons.id) AS distinctIds`;

/** A person's distinct ids, in their order. */
export function distinctIdsOf({ distinctIds }: Pick<PersonRow, 'distinctIds'>): string[] {
  return textListOf(distinctIds) ?? [];
}

/** The documented person as JSON text. The stored JSON is spliced in as it is: no number or escape changes. */
export function personJson(row: PersonRow): string {
  return (
    `{"id":${row.id},"name":${JSON.stringify(row.name)},"distinct_ids":${row.distinctIds},` +
    `"properties":${row.properties},"created_at":"${microsToIso(row.createdAtMicros)}","uuid":"${row.uuid}"}`
  );
}

/** The person as a recording embeds it: `distinct_ids` is one string, the person's first (section 2.1). */
export function recordingPersonJson(row: PersonRow): string {
  const [first = ''] = distinctIdsOf(row);
  return personJson({ ...row, distinctIds: JSON.stringify(first) });
}
