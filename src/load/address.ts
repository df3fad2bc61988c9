import { httpUrlProblem, isLoopback, postgresUrlProblem } from '../config/addresses.ts';
import { type AppError, usageError } from '../core/errors.ts';

/** The engines whose warehouses can be loaded. */
export type Engine = 'postgres' | 'duckdb' | 'clickhouse';

/** Where the tables of a warehouse are: its engine; its address without a secret, or its file; and the schema of the tables. */
export type WarehousePlace = { engine: Engine; at: string; schema: string; password: string | null };

/** The forms that name a warehouse. */
const forms = 'postgres://user@host/database?sslmode=verify-full, FILE.duckdb or clickhouse://user@host:8443';

/** Whether a text names a warehouse and no place of files. An address of the web can be both: as a warehouse, it is of ClickHouse. */
export function namesEngine(text: string): boolean {
  return /^(?:postgres(?:ql)?|clickhouse):\/\//.test(text) || (text.endsWith('.duckdb') && !text.includes('://'));
}

/**
 * The warehouse that an address names. Throws `usage` for what is none, and for one with a password: everybody on this machine can
 * read a command line. No error repeats the address.
 */
export function warehousePlace(text: string, schema: string, password: string | null): WarehousePlace {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw usageError(
      'the name of the schema is none that every engine takes',
      'take small letters, digits and _, as --schema mirror',
    );
  if (!text.includes('://') && namesEngine(text)) return { engine: 'duckdb', at: text, schema, password: null };
  if (!URL.canParse(text)) throw notAWarehouse('is none');
  const url = new URL(text);
  if (url.password !== '' || url.searchParams.has('password'))
    throw usageError(
      'the address of the warehouse holds a password, which others on this machine can read',
      'give the address without it, and the password in MIRROR_WAREHOUSE_PASSWORD or in the file that MIRROR_WAREHOUSE_PASSWORD_FILE names',
    );
  if (text.startsWith('postgres')) {
    const problem = postgresUrlProblem(text);
    if (problem !== null) throw notAWarehouse(problem);
    return { engine: 'postgres', at: text, schema, password };
  }
  const at = text.replace(/^clickhouse:/, isLoopback(url.hostname) ? 'http:' : 'https:');
  const nameless = new URL(at);
  nameless.username = '';
  const problem = httpUrlProblem(nameless.href);
  if (problem !== null) throw notAWarehouse(problem);
  return { engine: 'clickhouse', at, schema, password };
}

function notAWarehouse(problem: string): AppError {
  return usageError(`the address of the warehouse ${problem}`, `give ${forms}`);
}
