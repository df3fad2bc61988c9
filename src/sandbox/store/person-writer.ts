import type Database from 'better-sqlite3';
import { sha256 } from '../../core/digest.ts';
import { isJsonObject, type JsonObject, parseExactJson } from '../../core/exact-json.ts';
import type { Activity, Change, ChangeLog } from './change-log.ts';
import { personColumns, plainColumns, plainDefaults, type NewPerson, type PersonRow } from './person-row.ts';

export type PersonWriter = ReturnType<typeof personWriter>;

/** The single steps of every change of a person. The caller opens the transaction. */
export function personWriter(database: Database.Database, { seed, log }: { seed: () => number; log: ChangeLog }) {
  const insert = database.prepare(/*sql*/ `
    INSERT INTO persons (id, created_at_us, email, ${plainColumns.join(', ')})
    VALUES (@id, @createdAtMicros, @email, ${plainColumns.map((name) => `@${name}`).join(', ')})`);
  const insertDistinctId = database.prepare(
    /*sql*/ `INSERT INTO person_distinct_ids (person_id, position, distinct_id) VALUES (?, ?, ?)`,
  );
  const insertSearch = database.prepare(/*sql*/ `INSERT INTO person_search (rowid, email) VALUES (?, ?)`);
  const select = database.prepare<[number], PersonRow>(/*sql*/ `SELECT ${personColumns} FROM persons WHERE id = ?`);
  const selectNextId = database.prepare<[], number>(
    /*sql*/ `SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'persons'`,
  );
  const updateProperties = database.prepare(/*sql*/ `UPDATE persons SET properties = ?, email = ? WHERE id = ?`);
  const deleteSearch = database.prepare(/*sql*/ `DELETE FROM person_search WHERE rowid = ?`);
  const deletePerson = database.prepare(/*sql*/ `DELETE FROM persons WHERE id = ?`);
  const deleteDistinctIds = database.prepare(
    /*sql*/ `DELETE FROM person_distinct_ids WHERE person_id = ? AND position >= ?`,
  );

  const logActivity = (
    { id, uuid }: Pick<PersonRow, 'id' | 'uuid'>,
    action: Activity['action'],
    detail: object,
    change: Change,
  ): void => log.addActivity({ ...change, personId: id, personUuid: uuid, action, detail: JSON.stringify(detail) });

  const nextId = (): number => selectNextId.pluck().get() ?? 1;

  return {
    find: (id: number): PersonRow | undefined => select.get(id),

    /** The id of the next person. The id of a deleted person is never used again. */
    nextId,

    uuidFor: (id: number): string => derivedUuid(seed(), id),

    /** Throws when the id, the uuid or a distinct id is taken. */
    add: (person: NewPerson): void => {
      const id = person.id ?? nextId();
      const { email } = person;
      insert.run({ ...plainDefaults(id), ...person, id });
      person.distinctIds.forEach((distinctId, position) => insertDistinctId.run(id, position, distinctId));
      if (email !== null) insertSearch.run(id, email);
    },

    /** Removes the person's row and everything that refers to it. */
    remove: (id: number): void => {
      deleteDistinctIds.run(id, 0);
      deleteSearch.run(id);
      deletePerson.run(id);
    },

    keepFirstDistinctId: (id: number): void => void deleteDistinctIds.run(id, 1),

    /** Replaces the properties, any JSON, and logs the keys that changed. Does nothing if no key of an object changed. */
    setProperties: (person: PersonRow, properties: unknown, action: Activity['action'], change: Change): void => {
      const { id } = person;
      const before = propertiesOf(person);
      const fields = isJsonObject(properties) ? properties : {};
      const all = new Set([...Object.keys(before), ...Object.keys(fields)]);
      const keys = [...all].filter((key) => jsonOf(before, key) !== jsonOf(fields, key));
      const text = JSON.stringify(properties);
      if (keys.length === 0 && (isJsonObject(properties) || text === person.properties)) return;
      const email = typeof fields['email'] === 'string' ? fields['email'] : null;
      updateProperties.run(text, email, id);
      deleteSearch.run(id);
      if (email !== null) insertSearch.run(id, email);
      logActivity(person, action, { keys }, change);
    },

    logActivity,
  };
}

/** The properties as an object; `{}` if they are not an object. */
export function propertiesOf(person: PersonRow): JsonObject {
  const properties = parseExactJson(person.properties);
  return isJsonObject(properties) ? properties : {};
}

function jsonOf(properties: JsonObject, key: string): string | null {
  return Object.hasOwn(properties, key) ? JSON.stringify(properties[key]) : null;
}

/** The uuid of a person that is created while the service runs: in the form of version 4, the same each time. */
function derivedUuid(seed: number, personId: number): string {
  const hex = sha256(`person ${seed} ${personId}`);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(12, 15)}-a${hex.slice(15, 18)}-${hex.slice(18, 30)}`;
}
