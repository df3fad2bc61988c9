import type { Database } from 'better-sqlite3';
import { AppError, systemCode, usageError } from '../core/errors.ts';

/** The answer to a query: column names, and rows in their order. Integers beyond 2^53 are bigint. */
export type QueryResult = { columns: string[]; rows: unknown[][]; isCut: boolean };

/** A result of more characters than this is cut, too. */
const charactersMax = 64 * 1024 * 1024;

/**
 * Runs one reading statement, for at most `rowsMax` rows and 64 MiB. Throws `usage`, in SQLite's words, and SQLite's errors.
 */
export function queryMirror(db: Database, sql: string, rowsMax: number): QueryResult {
  try {
    const statement = db.prepare<[], unknown[]>(sql);
    if (!statement.reader)
      throw usageError(
        'the statement returns no rows, and only reading ones are run',
        'write SELECT …; the mirror is changed by `sync` alone',
      );
    const rows: unknown[][] = [];
    let isCut = false;
    let characters = 0;
    for (const row of statement.raw().safeIntegers().iterate()) {
      for (const value of row)
        characters += typeof value === 'string' || value instanceof Uint8Array ? value.length : 0;
      if (rows.length === rowsMax || characters > charactersMax) {
        isCut = true;
        break;
      }
      rows.push(row.map(plainValue));
    }
    return { columns: statement.columns().map(({ name }) => name), rows, isCut };
  } catch (error) {
    const code = systemCode(error) ?? '';
    if (error instanceof AppError || /^SQLITE_(CORRUPT|NOTADB|IOERR|BUSY)/.test(code)) throw error;
    const words = error instanceof Error ? error.message : 'unknown error';
    throw new AppError(`the query failed: ${words}`, {
      code: 'usage',
      hint: '`query "SELECT name, sql FROM sqlite_schema"` shows the tables',
      cause: error,
    });
  }
}

function plainValue(value: unknown): unknown {
  return typeof value === 'bigint' && value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER
    ? Number(value)
    : value;
}
