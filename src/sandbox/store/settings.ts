import type Database from 'better-sqlite3';

export type Settings = ReturnType<typeof settingTable>;
type Name = 'seed' | 'clock_ahead_ms';

/** What the sandbox remembers about itself when its folder is opened again. */
export function settingTable(database: Database.Database) {
  const select = database.prepare<[Name], number>(/*sql*/ `SELECT value FROM settings WHERE name = ?`);
  const upsert = database.prepare<[Name, number]>(
    /*sql*/ `INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  );
  return {
    get: (name: Name): number | undefined => select.pluck().get(name),
    set: (name: Name, value: number): void => void upsert.run(name, value),
  };
}
