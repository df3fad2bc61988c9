import { describeField, Person, type FieldKind } from '../../contract/resources.ts';
import { textListOf } from '../../contract/tolerant-reader.ts';
import { microsToIso } from '../../core/time.ts';

/** The fields with a column of the same name. The other three are stored in ways of their own. */
type PlainField = Exclude<keyof Person, 'id' | 'distinct_ids' | 'created_at'>;

/** The plain columns of a person: numbers as they are, booleans as 0 or 1, all others as text or JSON text. */
type PlainValues = { [F in PlainField]: Person[F] extends number | boolean ? number : string };

/** A person as it is stored. `distinctIds` and `properties` are JSON text. */
export type PersonRow = PlainValues & { id: number; createdAtMicros: number; distinctIds: string };

/** A person to store. `id` null takes the next id. A field that is missing gets a default. */
export type NewPerson = Partial<PlainValues> &
  Pick<PlainValues, 'uuid' | 'name' | 'properties'> & {
    id: number | null;
    createdAtMicros: number;
    distinctIds: readonly string[];
    /** `properties.email` where that is a string. */
    email: string | null;
  };

type Column = { type: string; isJson: boolean; otherwise: (name: string, id: number) => string | number };

/** How each kind of field is stored, and the default for a person that was made without it. */
const columnOf: Record<FieldKind, Column> = {
  text: { type: 'TEXT', isJson: false, otherwise: (name, id) => `${name} ${id}` },
  uuid: { type: 'TEXT', isJson: false, otherwise: () => '00000000-0000-4000-8000-000000000000' },
  time: { type: 'TEXT', isJson: false, otherwise: () => '2025-01-01T00:00:00.000000Z' },
  integer: { type: 'INTEGER', isJson: true, otherwise: () => 0 },
  integer_id: { type: 'INTEGER', isJson: true, otherwise: () => 0 },
  real: { type: 'REAL', isJson: true, otherwise: () => 0 },
  boolean: { type: 'INTEGER', isJson: true, otherwise: () => 0 },
  text_list: { type: 'TEXT', isJson: true, otherwise: () => '[]' },
  json: { type: 'TEXT', isJson: true, otherwise: () => 'null' },
};

const fields = Object.entries(Person.shape).map(([name, schema]) => {
  const { kind } = describeField(schema);
  return { name: name as keyof Person, kind, column: columnOf[kind] };
});
const plainFields = fields.filter(({ name }) => !['id', 'distinct_ids', 'created_at'].includes(name));

/** The names of the plain columns. */
export const plainColumns: readonly string[] = plainFields.map(({ name }) => name);

/** The plain columns as a table declares them. */
export const plainColumnTypes = plainFields.map(({ name, column }) => `${name} ${column.type} NOT NULL`).join(', ');

/** The columns of a `PersonRow`, selected from `persons`. */
export const personColumns = /*sql*/ `
  persons.id, persons.created_at_us AS createdAtMicros, ${plainColumns.map((name) => `persons.${name}`).join(', ')},
  (SELECT json_group_array(distinct_id ORDER BY position)
   FROM person_distinct_ids WHERE person_id = persons.id) AS distinctIds`;

/** The default values of a person's plain columns. */
export function plainDefaults(id: number): PlainValues {
  const values = plainFields.map(({ name, column }) => [name, column.otherwise(name, id)]);
  return Object.fromEntries(values) as PlainValues;
}

/** A person's distinct ids, in their order. */
export function distinctIdsOf({ distinctIds }: Pick<PersonRow, 'distinctIds'>): string[] {
  return textListOf(distinctIds) ?? [];
}

/** The documented person's fields, by name: times as ISO 8601 text; lists, booleans and JSON as JSON text. */
export function personCells(row: PersonRow): Record<string, string | number> {
  return Object.fromEntries(fields.map(({ name, kind }) => [name, cellOf(row, name, kind)]));
}

/** The documented person as JSON text. The stored JSON is spliced in as it is: no number or escape changes. */
export function personJson(row: PersonRow): string {
  const members = fields.map(({ name, kind, column }) => {
    const cell = cellOf(row, name, kind);
    return `"${name}":${column.isJson ? cell : JSON.stringify(cell)}`;
  });
  return `{${members.join(',')}}`;
}

function cellOf(row: PersonRow, name: keyof Person, kind: FieldKind): string | number {
  if (name === 'created_at') return microsToIso(row.createdAtMicros);
  if (name === 'distinct_ids') return row.distinctIds;
  return kind === 'boolean' ? String(Number(row[name]) === 1) : row[name];
}

/** The person as a recording embeds it: `distinct_ids` is one string, the person's first (section 2.1). */
export function recordingPersonJson(row: PersonRow): string {
  const [first = ''] = distinctIdsOf(row);
  return personJson({ ...row, distinctIds: JSON.stringify(first) });
}
