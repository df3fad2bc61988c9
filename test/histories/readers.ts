import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import type { Machine } from './machine.ts';

/** What a reader of the printed statements has: rows by their keys, and the keys of rows whose people are erased. */
export type Loaded = {
  persons: Map<string, string>;
  recordings: Map<string, string>;
  entries: Map<string, string>;
  erased: { dataset: string; key: string }[];
};

/** One database for all: a script of statements replaces the tables that it reads. */
let instance: DuckDBInstance | undefined;

/** Loads what is published as the documentation says; undefined where nothing is, or where the statements are refused. */
export async function load(machine: Machine): Promise<Loaded | undefined> {
  const { stdout, code } = await machine.run(['snapshots', '--sql', 'duckdb']);
  if (code !== 0) return undefined;
  instance ??= await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  try {
    await connection.run(stdout);
    return await readTables(connection, (table) => (stdout.includes(`TABLE "${table}"`) ? table : undefined));
  } finally {
    connection.closeSync();
  }
}

/** What a warehouse has, a DuckDB file that `load` has filled. */
export async function readWarehouse(path: string): Promise<Loaded> {
  instance ??= await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  try {
    await connection.run(`ATTACH '${path}' AS warehouse (READ_ONLY)`);
    const sql = `SELECT table_name FROM information_schema.tables WHERE table_catalog = 'warehouse'`;
    const tables = (await connection.runAndReadAll(sql)).getRowsJson().flat();
    return await readTables(connection, (table) => (tables.includes(table) ? `warehouse.mirror.${table}` : undefined));
  } finally {
    await connection.run('DETACH DATABASE IF EXISTS warehouse');
    connection.closeSync();
  }
}

/** `placeOf`: where a table is; undefined where it is not. */
async function readTables(
  connection: DuckDBConnection,
  placeOf: (table: string) => string | undefined,
): Promise<Loaded> {
  const rowsOf = async (table: string, columns: string, where = ''): Promise<string[][]> => {
    const place = placeOf(table);
    if (place === undefined) return [];
    return (
      await connection.runAndReadAll(`SELECT ${columns} FROM ${place} ${where} ORDER BY 1`)
    ).getRowsJson() as string[][];
  };
  const byKey = (rows: string[][]) => new Map(rows.map(([key = '', ...row]) => [key, JSON.stringify(row)]));
  const erased = await rowsOf('deletions', 'dataset, key', 'WHERE request_id IS NOT NULL');
  return {
    persons: byKey(await rowsOf('persons', 'person_uuid, name, properties, changed_at')),
    recordings: byKey(await rowsOf('recordings', 'id, start_url, changed_at')),
    entries: byKey(await rowsOf('playlist_recordings', 'recording_id')),
    erased: erased.map(([dataset = '', key = '']) => ({ dataset, key })),
  };
}
