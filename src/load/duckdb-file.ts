import { sqlName, sqlText } from '../snapshot/duckdb.ts';
import type { WarehousePlace } from './address.ts';
import { dialects, storedRows } from './dialect.ts';
import { rowsRead, type Reader } from './duckdb-reader.ts';
import { allRows, goneAfter, rowsAfter } from './published.ts';
import { tablesOf, type Change, type Warehouse } from './warehouse.ts';

/** The name under which the file is attached to the reader. */
export const attachedAs = 'warehouse';

/** The warehouse in a file of DuckDB that the reader has attached. */
export function openDuckDbFile({ at, schema }: Pick<WarehousePlace, 'at' | 'schema'>, reader: Reader): Warehouse {
  const run = (sql: string): Promise<string[][]> => rowsRead(reader, sql, at);
  return {
    dialect: dialects.duckdb,
    nameOf: (table) => nameIn(schema, table),
    tables: async () =>
      tablesOf(
        await run(
          `SELECT table_name, coalesce(comment, ''), column_name, data_type
            FROM (SELECT table_name, comment FROM duckdb_tables() WHERE ${isIn(schema)} UNION ALL SELECT view_name, NULL FROM duckdb_views() WHERE ${isIn(schema)})
            LEFT JOIN (SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE ${isIn(schema)}) USING (table_name)`,
        ),
      ),
    query: run,
    together: async (work) => {
      await run('BEGIN');
      try {
        await run(`CREATE SCHEMA IF NOT EXISTS ${attachedAs}.${sqlName(schema)}`);
        await work();
        await run('COMMIT');
      } catch (error) {
        await reader.run('ROLLBACK').catch(() => undefined);
        throw error;
      }
    },
    apply: (change) => apply(run, nameIn(schema, change.table.dataset), change),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function isIn(schema: string): string {
  return `database_name = ${sqlText(attachedAs)} AND schema_name = ${sqlText(schema)}`;
}

function nameIn(schema: string, table: string): string {
  return `${attachedAs}.${sqlName(schema)}.${sqlName(table)}`;
}

async function apply(run: Warehouse['query'], name: string, { table, plan, comment }: Change): Promise<void> {
  const { key, columns } = table;
  const rows = (of: string): string => storedRows(columns, of, dialects.duckdb);
  if (plan.is === 'full') await run(`CREATE OR REPLACE TABLE ${name} AS ${rows(allRows(table))}`);
  else {
    for (const keys of [goneAfter(table, plan.after), rowsAfter(table, plan.after)])
      if (keys !== null)
        await run(`DELETE FROM ${name} WHERE ${sqlName(key)} IN (SELECT ${sqlName(key)} FROM (${keys}))`);
    const newer = rowsAfter(table, plan.after);
    if (newer !== null) await run(`INSERT INTO ${name} BY NAME ${rows(newer)}`);
  }
  await run(`COMMENT ON TABLE ${name} IS ${sqlText(comment)}`);
}
