import type Database from 'better-sqlite3';
import { isJsonObject } from '../../core/exact-json.ts';
import type { Change } from './change-log.ts';
import type { Events } from './events.ts';
import type { FilterBindings, PersonFilters, PersonFilterSql, Window } from './person-filters.ts';
import { distinctIdsOf, personColumns, type PersonRow } from './person-row.ts';
import { propertiesOf, type PersonWriter } from './person-writer.ts';

/** The list of persons: newest first, equal times by id, highest first. */
function personList(database: Database.Database, filterSql: PersonFilterSql) {
  const statements = new Map<string, ReturnType<typeof prepare>>();
  const prepare = (where: string) => ({
    count: database.prepare<FilterBindings, number>(/*sql*/ `SELECT count(*) FROM persons ${where}`).pluck(),
    // First the page's keys from the narrow index, then the wide rows of that page.
    rows: database.prepare<FilterBindings, PersonRow>(/*sql*/ `
      WITH page AS (
        SELECT id, created_at_us FROM persons ${where}
        ORDER BY created_at_us DESC, id DESC LIMIT @limit OFFSET @offset)
      SELECT ${personColumns} FROM page JOIN persons USING (id)
      ORDER BY page.created_at_us DESC, page.id DESC`),
  });
  return {
    /** One page, and how many persons match the filters in all. */
    page(filters: PersonFilters, window: Window): { count: number; rows: PersonRow[] } {
      const { where, bindings } = filterSql(filters, window);
      let statement = statements.get(where);
      if (!statement) statements.set(where, (statement = prepare(where)));
      return { count: statement.count.get(bindings) ?? 0, rows: statement.rows.all(bindings) };
    },
  };
}

/** What the API does with persons (section 4.2). Every change is one transaction, with its log. */
export function personTable(
  database: Database.Database,
  { writer, events, filterSql }: { writer: PersonWriter; events: Events; filterSql: PersonFilterSql },
) {
  const { add, find, logActivity, setProperties } = writer;
  return {
    ...personList(database, filterSql),
    add,
    find,

    /**
     * Merges the fields of an object into the existing properties; any other value replaces them, and fields replace
     * properties that are no object. Undefined and an empty object change nothing.
     */
    mergeProperties: database.transaction((id: number, properties: unknown, change: Change) => {
      const person = find(id);
      if (!person || properties === undefined) return person;
      const merged = isJsonObject(properties) ? { ...propertiesOf(person), ...properties } : properties;
      setProperties(person, merged, 'updated', change);
      return find(id);
    }),

    /** Deletes one top-level property if it exists. False for an unknown person. */
    deleteProperty: database.transaction((id: number, key: string, change: Change): boolean => {
      const person = find(id);
      if (!person) return false;
      const { [key]: _deleted, ...others } = propertiesOf(person);
      setProperties(person, others, 'property_deleted', change);
      return true;
    }),

    /**
     * The person keeps its first distinct id. Each other distinct id becomes a new person, created now, without
     * properties. False for an unknown person.
     */
    split: database.transaction((id: number, change: Change): boolean => {
      const person = find(id);
      if (!person) return false;
      const [, ...others] = distinctIdsOf(person);
      writer.keepFirstDistinctId(id);
      const newIds = others.map((distinctId) => splitOff(writer, id, distinctId, change));
      if (newIds.length > 0) logActivity(person, 'split', { new_ids: newIds }, change);
      return true;
    }),

    /** Queues the deletion of a person's events, and keeps the person. False for an unknown person. */
    deleteEvents: database.transaction((id: number, change: Change): boolean => {
      const person = find(id);
      if (person) events.queueDeletion(person.uuid, person.distinctIds, change.atMs);
      return person !== undefined;
    }),

    /** Deletes the person, and queues the deletion of its events if asked. False for an unknown person. */
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

/** Adds a person that has nothing but a distinct id of another one. Returns its id. */
function splitOff(writer: PersonWriter, from: number, distinctId: string, change: Change): number {
  const id = writer.nextId();
  const uuid = writer.uuidFor(id);
  const createdAtMicros = change.atMs * 1000;
  writer.add({ id, uuid, name: distinctId, createdAtMicros, distinctIds: [distinctId], properties: '{}', email: null });
  writer.logActivity({ id, uuid }, 'created', { split_from: from }, change);
  return id;
}
