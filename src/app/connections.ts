import type { Clock } from '../core/clock.ts';
import type { OpenMirror } from '../job/project-home.ts';
import { openDatabase, openDatabaseReadOnly, type Database } from '../mirror/database.ts';

/** The connections to one mirror, closed together. */
export type Connections = OpenMirror & {
  /** A connection of its own, for reading. */
  readOnly: () => Database;
  /** One more connection, for writing. */
  another: () => Database;
};

/** Connections to the mirror in a data folder. Nothing is opened yet. */
export function connectionsTo(dataDir: string, clock: Clock): Connections {
  const open: Database[] = [];
  let mirror: Database | undefined;
  const opened = (db: Database): Database => {
    open.push(db);
    return db;
  };
  const another = (): Database => opened(openDatabase(dataDir, clock));
  return {
    mirror: () => (mirror ??= another()),
    another,
    readOnly: () => opened(openDatabaseReadOnly(dataDir)),
    disconnect: () => {
      for (const db of open.splice(0)) db.close();
      mirror = undefined;
    },
  };
}
