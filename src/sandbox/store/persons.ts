import type Database from 'better-sqlite3';
import { isJsonObject } from '../../core/exact-json.ts';
import type { Change } from './change-log.ts';
import type { Events } from './events.ts';
import { distinctIdsOf, personColumns, type PersonRow } from './person-row.ts';
import { propertiesOf, type PersonWriter } from './person-writer.ts';
import { matchesProperties, type PropertyFilter } from './property-filter.ts';

/** Which rows of a list are asked for. */
export type Window = { limit: number; offset: number };

/** The documented filters of the list; they narrow it together. */
export type PersonFilters = {
  distinctId?: string | undefined;
  /** Exactly this e-mail. */
  email?: string | undefined;
  /** Words of the e-mail, or exactly this distinct id. */
  search?: string | undefined;
  properties?: readonly PropertyFilter[] | undefined;
};

type Bindings = Window & { distinctId: string; email: string; search: string; match: string };

/** The list of persons: newest first, equal times by id, highest first. */
function personList(database: Database.Database) {
  let propertyFilters: readonly PropertyFilter[] = [];
  database.function('matches_property_filters', (properties) =>
    matchesProperties(String(properties), propertyFilters) ? 1 : 0,
  );
  const statements = new Map<string, ReturnType<typeof prepare>>();
  const prepare = (where: string) => ({
    count: database.prepare<Partial<Bindings>, number>(/*sql*/ `SELECT count(*) FROM persons ${where}`).pluck(),
    // First the page's keys from the narrow index, then the wide rows of that page.
    rows: database.prepare<Bindings, PersonRow>(/*sql*/ `
      WITH page AS (
        SELECT id, created_at_us FROM persons ${where}
        ORDER BY created_at_us DESC, id DESC LIMIT @limit OFFSET @offset)
      SELECT ${personColumns} FROM page JOIN persons USING (id)
      ORDER BY page.created_at_us DESC, page.id DESC`),
  });
  return {
    /** One page, and how many persons match the filters in all. */
    page(filters: PersonFilters, window: Window): { count: number; rows: PersonRow[] } {
      propertyFilters = filters.properties ?? [];
      const where = whereClause(filters);
      let statement = statements.get(where);
      if (!statement) statements.set(where, (statement = prepare(where)));
      const bindings: Bindings = {
        ...window,
        distinctId: filters.distinctId ?? '',
        email: filters.email ?? '',
        search: filters.search ?? '',
        match: matchExpression(filters.search ?? ''),
      };
      return { count: statement.count.get(bindings) ?? 0, rows: statement.rows.all(bindings) };
    },
  };
}

function whereClause({ distinctId, email, search, properties }: PersonFilters): string {
  const conditions: string[] = [];
  if (distinctId !== undefined) {
    conditions.push(`id IN (SELECT person_id FROM person_distinct_ids WHERE distinct_id = @distinctId)`);
  }
  if (email !== undefined) conditions.push(`email = @email`);
  if (search !== undefined && search !== '') {
    conditions.push(`id IN (SELECT rowid FROM person_search WHERE person_search MATCH @match
      UNION SELECT person_id FROM person_distinct_ids WHERE distinct_id = @search)`);
  }
  if (properties !== undefined) conditions.push(`matches_property_filters(properties)`);
  return conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
}

/** Every word of the search as a quoted prefix, so that no text of a caller is FTS5 syntax. */
function matchExpression(search: string): string {
  const words = search.replaceAll('\0', ' ').split(/\s+/).filter(Boolean);
  return words.map((word) => `"${word.replaceAll('"', '""')}"*`).join(' ') || '""';
}

/** What the API does with persons (section 4.2). Every change is one transaction, with its log. */
export function personTable(database: Database.Database, { writer, events }: { writer: PersonWriter; events: Events }) {
  const { add, find, logActivity, setProperties } = writer;
  return {
    ...personList(database),
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
