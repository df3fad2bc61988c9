import Database from 'better-sqlite3';
import { apiKeyTable } from './api-keys.ts';
import { changeLogTable } from './change-log.ts';
import { eventTable } from './events.ts';
import { insightTable } from './insights.ts';
import { ghostTable } from './ghosts.ts';
import { personLifecycle } from './person-lifecycle.ts';
import { personWriter } from './person-writer.ts';
import { personTable } from './persons.ts';
import { playlistTable } from './playlists.ts';
import { recordingTable } from './recordings.ts';
import { indexes, tables } from './schema.ts';
import { settingTable } from './settings.ts';
import { truthTable } from './truth.ts';

/** Everything the service keeps, one object for each kind of thing. */
export type Store = ReturnType<typeof tablesOf> & { close(): void };

/**
 * Opens the store in a file (made when it is not there) or in `:memory:`. A new one is filled by `fill` in the same
 * transaction that makes it, so that a file is either whole or empty. Throws SQLite's error.
 */
export function openStore(path: string, fill: (store: Omit<Store, 'close'>) => void): Store {
  const database = new Database(path);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = NORMAL');
  const open = database.transaction(() => {
    const isNew = database.pragma('user_version', { simple: true }) === 0;
    if (isNew) database.exec(tables);
    const store = tablesOf(database);
    if (isNew) {
      fill(store);
      database.exec(indexes);
      database.pragma('user_version = 1');
    }
    return store;
  });
  return { ...open.immediate(), close: () => database.close() };
}

function tablesOf(database: Database.Database) {
  const settings = settingTable(database);
  const apiKeys = apiKeyTable(database);
  const log = changeLogTable(database);
  const events = eventTable(database);
  const writer = personWriter(database, { settings, log });
  return {
    settings,
    apiKeys,
    log,
    events,
    persons: personTable(database, { writer, events }),
    lifecycle: personLifecycle(database, { writer }),
    ghosts: ghostTable(database),
    truth: truthTable(database),
    recordings: recordingTable(database),
    playlists: playlistTable(database, apiKeys),
    insights: insightTable(database),
  };
}
