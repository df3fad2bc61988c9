import type Database from 'better-sqlite3';
import type { Change } from './change-log.ts';

/** The trend insights that were created. The document shows no way to read them back; tests may. */
export function insightTable(database: Database.Database) {
  const insert = database.prepare(
    /*sql*/ `INSERT INTO insights (at_ms, user_id, document) VALUES (@atMs, @userId, @document)`,
  );
  const select = database.prepare<[], string>(/*sql*/ `SELECT document FROM insights ORDER BY id`);
  return {
    add: (insight: object, change: Change): void =>
      void insert.run({ ...change, document: JSON.stringify(insight) }),
    /** Each insight as JSON text, oldest first. */
    all: (): string[] => select.pluck().all(),
  };
}
