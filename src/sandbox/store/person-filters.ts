import type Database from 'better-sqlite3';
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

/** The values that a filtered list is asked with. */
export type FilterBindings = Window & { distinctId: string; email: string; search: string; match: string };

export type PersonFilterSql = ReturnType<typeof personFilterSql>;

/** The filters as SQL: a WHERE clause, empty without a filter, and its values, which hold until the next filters are read. */
export function personFilterSql(database: Database.Database) {
  let propertyFilters: readonly PropertyFilter[] = [];
  database.function('matches_property_filters', (properties) =>
    matchesProperties(String(properties), propertyFilters) ? 1 : 0,
  );
  return (filters: PersonFilters, window: Window): { where: string; bindings: FilterBindings } => {
    propertyFilters = filters.properties ?? [];
    return {
      where: whereClause(filters),
      bindings: {
        ...window,
        distinctId: filters.distinctId ?? '',
        email: filters.email ?? '',
        search: filters.search ?? '',
        match: matchExpression(filters.search ?? ''),
      },
    };
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
