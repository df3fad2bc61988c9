import Database from 'better-sqlite3';
import { apiKeyTable } from './api-keys.ts';
import { type Change, changeLogTable } from './change-log.ts';
import { eventTable, type DeletionRows } from './events.ts';
import { ghostTable, livePersonList } from './live-lists.ts';
import { personFilterSql } from './person-filters.ts';
import { personLifecycle } from './person-lifecycle.ts';
import { personWriter } from './person-writer.ts';
import { personTable } from './persons.ts';
import { playlistTable } from './playlists.ts';
import { recordingTable } from './recordings.ts';
import { indexes, tables } from './schema.ts';
import { truthTable } from './truth.ts';

/** Everything the service keeps, one object for each kind of thing. */
export type Store = ReturnType<typeof tablesOf> & { close(): void };

/**
 * Opens the store in a file (made when it is not there) or in `:memory:`. A new one is filled by `fill` in the same
 * transaction that makes it, so that a file is either whole or empty. Throws SQLite's error.
 */
export function openStore(path: string, rows: DeletionRows, fill: (store: Omit<Store, 'close'>) => void): Store {
  const database = new Database(path);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = NORMAL');
  const open = database.transaction(() => {
    const isNew = database.pragma('user_version', { simple: true }) === 0;
    if (isNew) database.exec(tables);
    const store = tablesOf(database, rows);
    if (isNew) {
      fill(store);
      database.exec(indexes);
      database.pragma('user_version = 1');
    }
    return store;
  });
  return { ...open.immediate(), close: () => database.close() };
}

function tablesOf(database: Database.Database, rows: DeletionRows) {
  const settings = settingTable(database);
  const apiKeys = apiKeyTable(database);
  const log = changeLogTable(database);
  const events = eventTable(database, rows);
  const writer = personWriter(database, { seed: () => settings.get('seed') ?? 0, log });
  const filterSql = personFilterSql(database);
  return {
    settings,
    apiKeys,
    log,
    events,
    persons: personTable(database, { writer, events, filterSql }),
    livePersons: livePersonList(database, { writer, filterSql }),
    lifecycle: personLifecycle(database, { writer }),
    ghosts: ghostTable(database),
    truth: truthTable(database),
    recordings: recordingTable(database),
    playlists: playlistTable(database, apiKeys),
    insights: insightTable(database),
  };
}

type SettingName = 'seed' | 'clock_ahead_ms';

/** What the sandbox remembers about itself between two runs on one folder. */
function settingTable(database: Database.Database) {
  const select = database.prepare<[SettingName], number>(/*sql*/ `SELECT value FROM settings WHERE name = ?`);
  const upsert = database.prepare<[SettingName, number]>(
    /*sql*/ `INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  );
  return {
    get: (name: SettingName): number | undefined => select.pluck().get(name),
    set: (name: SettingName, value: number): void => void upsert.run(name, value),
  };
}

/** The trend insights that were created. The document has no way to read them; tests do. */
function insightTable(database: Database.Database) {
  const insert = database.prepare(
    /*sql*/ `INSERT INTO insights (at_ms, user_id, document) VALUES (@atMs, @userId, @document)`,
  );
  const select = database.prepare<[], string>(/*sql*/ `SELECT document FROM insights ORDER BY id`);
  return {
    add: (insight: object, change: Change): void => void insert.run({ ...change, document: JSON.stringify(insight) }),
    /** Each insight as JSON text, oldest first. */
    all: (): string[] => select.pluck().all(),
  };
}
