import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { Pass } from './operation.ts';
import { replaceMethod } from './replace-method.ts';

/**
 * Hands every SQL statement that this process executes on a database below a folder to `pass`, until the returned function
 * is called. A COMMIT has the name of the last change that it commits. Each is committed unless a transaction is open.
 */
export function watchSql(folder: string, pass: Pass): () => void {
  const names = new Map<string, string>();
  let lastChange = '';

  /** A statement in one line. */
  const nameOf = (source: string): string => {
    if (source === 'COMMIT') return `COMMIT after ${lastChange}`;
    const name =
      names.get(source) ??
      source
        .replace(/\s+/g, ' ')
        .replace(/(?<=^VACUUM INTO ').*(?=')/, 'FILE')
        .trim();
    names.set(source, name);
    return name;
  };
  const passSql = (source: string, isChange: boolean, database: Sqlite.Database, execute: () => unknown): unknown => {
    if (!database.name.startsWith(join(folder, '/'))) return execute();
    const name = nameOf(source);
    if (isChange && source !== 'COMMIT') lastChange = name;
    return pass({ kind: 'sql', name, isChange, execute, isCommitted: () => !database.inTransaction });
  };

  const statements = Object.getPrototypeOf(new Sqlite(':memory:').prepare('SELECT 1')) as Sqlite.Statement;
  const undo = ['run', 'get', 'all', 'iterate'].map((method) =>
    replaceMethod(statements, method, ({ source, readonly, database }, execute) =>
      passSql(source, !readonly || source === 'COMMIT', database, execute),
    ),
  );
  undo.push(
    replaceMethod(Sqlite.prototype, 'exec', (database, execute, [sql]) =>
      passSql(String(sql), true, database, execute),
    ),
  );
  return () => {
    for (const each of undo) each();
  };
}
