import type Database from 'better-sqlite3';
import type { JsonObject } from '../../core/exact-json.ts';
import type { Change } from './change-log.ts';
import type { Events } from './events.ts';
import { personList } from './person-list.ts';
import { distinctIdsOf } from './person-row.ts';
import { propertiesOf, type PersonWriter } from './person-writer.ts';

/** What the API does with persons (section 4.2). Every change is one transaction, its log included. */
export function personTable(
  database: Database.Database,
  { writer, events }: { writer: PersonWriter; events: Events },
) {
  const { add, find, logActivity, setProperties } = writer;
  return {
    ...personList(database),
    add,
    find,

    /** Sets top-level properties over those there are; properties that are no object are replaced. */
    mergeProperties: database.transaction((id: number, properties: JsonObject, change: Change) => {
      const person = find(id);
      if (!person) return undefined;
      setProperties(person, { ...propertiesOf(person), ...properties }, 'updated', change);
      return find(id);
    }),

    /** Deletes one top-level property where it is there. False for an unknown person. */
    deleteProperty: database.transaction((id: number, key: string, change: Change): boolean => {
      const person = find(id);
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
      const person = find(id);
      if (!person) return false;
      const [, ...others] = distinctIdsOf(person);
      writer.keepFirstDistinctId(id);
      const newIds = others.map((distinctId) => {
        const newId = writer.nextId();
        const uuid = writer.uuidFor(newId);
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
      const person = find(id);
      if (!person) return false;
      if (deleteEvents) events.queueDeletion(person.uuid, person.distinctIds, change.atMs);
      writer.remove(id);
      const distinctIds = distinctIdsOf(person);
      logActivity(person, 'deleted', { delete_events: deleteEvents, distinct_ids: distinctIds }, change);
      return true;
    }),
  };
}
