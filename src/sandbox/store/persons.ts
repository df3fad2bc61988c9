import type Database from 'better-sqlite3';
import { parseExactJson } from '../../core/exact-json.ts';
import type { Activity, Change, ChangeLog } from './change-log.ts';
import { derivedUuid } from './derived-uuid.ts';
import type { Events } from './events.ts';
import { isJsonObject, type JsonObject } from './json-object.ts';
import { personList } from './person-list.ts';
import { personColumns, type PersonRow } from './person-row.ts';
import type { Settings } from './settings.ts';

/** A person to store. `id` null takes the next one. */
export type NewPerson = {
  id: number | null;
  uuid: string;
  name: string;
  createdAtMicros: number;
  distinctIds: readonly string[];
  /** JSON text, kept as it is. */
  properties: string;
  /** `properties.email` where that is a string. */
  email: string | null;
};

/** Persons and what may be done to them (section 4.2). Every change is one transaction, its log included. */
export function personTable(
  database: Database.Database,
  { settings, log, events }: { settings: Settings; log: ChangeLog; events: Events },
) {
  const insert = database.prepare(/*sql*/ `
    INSERT INTO persons (id, uuid, name, created_at_us, email, properties) VALUES (?, ?, ?, ?, ?, ?)`);
  const insertDistinctId = database.prepare(
    /*sql*/ `INSERT INTO person_distinct_ids (person_id, position, distinct_id) VALUES (?, ?, ?)`,
  );
  const insertSearch = database.prepare(/*sql*/ `INSERT INTO person_search (rowid, email) VALUES (?, ?)`);
  const select = database.prepare<[number], PersonRow>(
    /*sql*/ `SELECT ${personColumns} FROM persons WHERE id = ?`,
  );
  const nextId = database.prepare<[], number>(
    /*sql*/ `SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'persons'`,
  );
  const updateProperties = database.prepare(
    /*sql*/ `UPDATE persons SET properties = ?, email = ? WHERE id = ?`,
  );
  const deleteSearch = database.prepare(/*sql*/ `DELETE FROM person_search WHERE rowid = ?`);
  const deletePerson = database.prepare(/*sql*/ `DELETE FROM persons WHERE id = ?`);
  const deleteDistinctIds = database.prepare(
    /*sql*/ `DELETE FROM person_distinct_ids WHERE person_id = ? AND position >= ?`,
  );

  const add = (person: NewPerson): void => {
    const { name, createdAtMicros, email, properties } = person;
    const id = Number(
      insert.run(person.id, person.uuid, name, createdAtMicros, email, properties).lastInsertRowid,
    );
    person.distinctIds.forEach((distinctId, position) => insertDistinctId.run(id, position, distinctId));
    if (email !== null) insertSearch.run(id, email);
  };

  const logActivity = (
    { id, uuid }: Pick<PersonRow, 'id' | 'uuid'>,
    action: Activity['action'],
    detail: object,
    change: Change,
  ): void =>
    log.addActivity({ ...change, personId: id, personUuid: uuid, action, detail: JSON.stringify(detail) });

  /** Replaces the properties and logs each key that changed; does nothing where none did. */
  const setProperties = (
    person: PersonRow,
    properties: JsonObject,
    action: Activity['action'],
    change: Change,
  ): void => {
    const { id } = person;
    const before = propertiesOf(person);
    const keys = changedKeys(before, properties);
    if (keys.length === 0) return;
    const email = typeof properties['email'] === 'string' ? properties['email'] : null;
    updateProperties.run(JSON.stringify(properties), email, id);
    deleteSearch.run(id);
    if (email !== null) insertSearch.run(id, email);
    for (const key of keys) {
      const after = jsonOf(properties, key);
      log.addPropertyChange({ ...change, personId: id, key, before: jsonOf(before, key), after });
    }
    logActivity(person, action, { keys }, change);
  };

  return {
    ...personList(database),
    /** Throws when the id is taken. */
    add,
    find: (id: number): PersonRow | undefined => select.get(id),

    /** Sets top-level properties over those there are; properties that are no object are replaced. */
    mergeProperties: database.transaction((id: number, properties: JsonObject, change: Change) => {
      const person = select.get(id);
      if (!person) return undefined;
      setProperties(person, { ...propertiesOf(person), ...properties }, 'updated', change);
      return select.get(id);
    }),

    /** Deletes one top-level property where it is there. False for an unknown person. */
    deleteProperty: database.transaction((id: number, key: string, change: Change): boolean => {
      const person = select.get(id);
      if (!person) return false;
      const { [key]: _deleted, ...others } = propertiesOf(person);
      setProperties(person, others, 'property_deleted', change);
      return true;
    }),

    /**
     * Leaves the person its first distinct id and makes each other a person of its own, created now, without
     * properties. False for an unknown person.
     */
    split: database.transaction((id: number, change: Change): boolean => {
      const person = select.get(id);
      if (!person) return false;
      const [, ...others] = JSON.parse(person.distinctIds) as string[];
      deleteDistinctIds.run(id, 1);
      const newIds = others.map((distinctId) => {
        const newId = nextId.pluck().get() ?? 1;
        const uuid = derivedUuid(settings.get('seed') ?? 0, newId);
        add({
          id: newId,
          uuid,
          name: distinctId,
          createdAtMicros: change.atMs * 1000,
          distinctIds: [distinctId],
          properties: '{}',
          email: null,
        });
        logActivity({ id: newId, uuid }, 'created', { split_from: id }, change);
        return newId;
      });
      if (newIds.length > 0) logActivity(person, 'split', { new_ids: newIds }, change);
      return true;
    }),

    /** Deletes the person, and queues the deletion of its events when asked. False for an unknown person. */
    delete: database.transaction((id: number, deleteEvents: boolean, change: Change): boolean => {
      const person = select.get(id);
      if (!person) return false;
      if (deleteEvents) events.queueDeletion(person.uuid, person.distinctIds, change.atMs);
      deleteDistinctIds.run(id, 0);
      deleteSearch.run(id);
      deletePerson.run(id);
      logActivity(person, 'deleted', { delete_events: deleteEvents }, change);
      return true;
    }),
  };
}

/** The properties as an object; whatever else they are has no keys. */
function propertiesOf(person: PersonRow): JsonObject {
  const properties = parseExactJson(person.properties);
  return isJsonObject(properties) ? properties : {};
}

function jsonOf(properties: JsonObject, key: string): string | null {
  return Object.hasOwn(properties, key) ? JSON.stringify(properties[key]) : null;
}

function changedKeys(before: JsonObject, after: JsonObject): string[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].filter((key) => jsonOf(before, key) !== jsonOf(after, key));
}
