import type { Dialect } from './dialect.ts';
import type { LoadPlan, WarehouseTable } from './plan.ts';
import type { PublishedTable } from './published.ts';

/** What is done to one table of a warehouse, and the comment that says so afterwards. */
export type Change = {
  table: PublishedTable;
  plan: Exclude<LoadPlan, { is: 'unchanged' }>;
  comment: string;
  /** The table as it is; undefined where there is none. */
  present: WarehouseTable | undefined;
};

/** A warehouse that is open. Its errors hold neither its address nor a value. */
export type Warehouse = AsyncDisposable & {
  dialect: Dialect;
  /** The tables of its schema, by name. */
  tables: () => Promise<ReadonlyMap<string, WarehouseTable>>;
  /** A table's name, as SQL of the engine. */
  nameOf: (table: string) => string;
  /** Does changes while no other load runs: all or none where the engine has transactions. */
  together: (work: () => Promise<void>) => Promise<void>;
  /** Makes a table what is published, with its comment, within `together`. Readers find the old table or the new one. */
  apply: (change: Change) => Promise<void>;
  /** The rows of a SELECT statement, as texts. */
  query: (sql: string) => Promise<string[][]>;
};

/** Gathers tables from rows of name, comment, column and type. */
export function tablesOf(rows: readonly (readonly (string | null)[])[]): Map<string, WarehouseTable> {
  const tables = new Map<string, { comment: string | null; columns: Map<string, string> }>();
  for (const [name, comment, column, type] of rows) {
    const table = tables.get(name ?? '') ?? { comment: comment || null, columns: new Map<string, string>() };
    if (column && type) table.columns.set(column, type);
    tables.set(name ?? '', table);
  }
  return tables;
}
