import type Database from 'better-sqlite3';
import { matchesProperties, type PropertyFilter } from './property-filter.ts';
import { personColumns, type PersonRow } from './person-row.ts';

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
export function personList(database: Database.Database) {
  let propertyFilters: readonly PropertyFilter[] = [];
  database.function('matches_property_filters', (properties) =>
    matchesProperties(String(properties), propertyFilters) ? 1 : 0,
  );
  const statements = new Map<string, ReturnType<typeof prepare>>();
  const prepare = (where: string) => ({
    count: database
      .prepare<Partial<Bindings>, number>(/*sql*/ `SELECT count(*) FROM persons ${where}`)
      .pluck(),
    // The page's keys first, from the narrow index alone; the wide rows of that page after.
    rows: database.prepare<Bindings, PersonRow>(/*sql*/ `
      WITH page AS (
        SELECT id, created_at_us FROM persons ${where}
        ORDER BY created_at_us DESC, id DESC LIMIT @limit OFFSET @offset)
      SELECT ${personColumns} FROM page JOIN persons USING (id)
      ORDER BY page.created_at_us DESC, page.id DESC`),
  });
  return {
    /** One page, and how many persons the filters leave in all. */
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

/** Every word of the search, each as a quoted prefix: nothing a caller writes is FTS5 syntax. */
function matchExpression(search: string): string {
  const words = search.replaceAll('\0', ' ').split(/\s+/).filter(Boolean);
  return words.map((word) => `"${word.replaceAll('"', '""')}"*`).join(' ') || '""';
}
