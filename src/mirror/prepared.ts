import type { Database, Statement } from 'better-sqlite3';

const statements = new WeakMap<Database, Map<string, Statement>>();

/**
 * A statement of a connection, prepared once. What asks for each of thousands of requests takes it from here: a statement has
 * some 10 kB outside of the heap, which nothing collects while the heap is small.
 */
export function prepared<Given extends unknown[] = unknown[], Row = unknown>(
  db: Database,
  sql: string,
): Statement<Given, Row> {
  const own = statements.get(db) ?? new Map<string, Statement>();
  statements.set(db, own);
  const known = own.get(sql) ?? db.prepare(sql);
  own.set(sql, known);
  return known as Statement<Given, Row>;
}
