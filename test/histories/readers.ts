import { DuckDBInstance } from '@duckdb/node-api';
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
  const read = async (sql: string): Promise<string[][]> =>
    (await connection.runAndReadAll(sql)).getRowsJson() as string[][];
  const rowsOf = async (table: string, columns: string): Promise<Map<string, string>> =>
    new Map(
      (stdout.includes(`TABLE "${table}"`) ? await read(`SELECT ${columns} FROM ${table} ORDER BY 1`) : []).map(
        ([key = '', ...row]) => [key, JSON.stringify(row)],
      ),
    );
  try {
    await connection.run(stdout);
    const erased = stdout.includes('TABLE "deletions"')
      ? await read(`SELECT dataset, key FROM deletions WHERE request_id IS NOT NULL`)
      : [];
    return {
      persons: await rowsOf('persons', 'person_uuid, name, properties, changed_at'),
      recordings: await rowsOf('recordings', 'id, start_url, changed_at'),
      entries: await rowsOf('playlist_recordings', 'recording_id'),
      erased: erased.map(([dataset = '', key = '']) => ({ dataset, key })),
    };
  } finally {
    connection.closeSync();
  }
}
