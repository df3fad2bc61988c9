import { openDatabaseReadOnly } from '../../src/mirror/database.ts';

const bookkeeping = ['row_key', 'first_seen_pass', 'last_seen_pass', 'changed_at', 'seen_at'];

/** Every row of the mirror, by its key, without what tells when and by which pass it was written. */
export function contentOf(dataDir: string): Record<string, unknown[][]> {
  using db = openDatabaseReadOnly(dataDir);
  const read = (table: string): unknown[][] => {
    const columns = db
      .prepare<[string], string>(`SELECT name FROM pragma_table_info(?)`)
      .pluck()
      .all(table)
      .filter((name) => !bookkeeping.includes(name));
    return db
      .prepare<[], unknown[]>(`SELECT ${columns.join(', ')} FROM ${table} ORDER BY 1, 2`)
      .raw()
      .all();
  };
  return Object.fromEntries(
    ['persons', 'person_distinct_ids', 'recordings', 'playlists', 'quarantine'].map((table) => [table, read(table)]),
  );
}
