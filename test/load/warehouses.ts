import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { warehousePlace, type WarehousePlace } from '../../src/load/address.ts';
import { duckDbApi } from '../../src/snapshot/duckdb.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';

/** A warehouse of a test, reached beside the program. Its tables are gone when the test has ended. */
export type TestWarehouse = {
  address: string;
  place: WarehousePlace;
  /** The rows of a SELECT statement, each value as a text; null for none. `$` before a table's name stands for its schema. */
  read: (sql: string) => Promise<(string | null)[][]>;
  /** Changes rows as somebody may who works in the warehouse. */
  remove: (table: string, where: string) => Promise<void>;
  double: (table: string, where: string) => Promise<void>;
  alter: (table: string, set: string, where: string) => Promise<void>;
  /** Makes a table of the rows of another. */
  copy: (table: string, as: string) => Promise<void>;
};

function textOf(value: unknown): string | null {
  return value === null || typeof value === 'string' ? value : JSON.stringify(value);
}

type Run = (sql: string) => Promise<(string | null)[][]>;

function changedBy(run: Run): Pick<TestWarehouse, 'remove' | 'double' | 'alter' | 'copy'> {
  return {
    remove: async (table, where) => void (await run(`DELETE FROM $${table} WHERE ${where}`)),
    double: async (table, where) => void (await run(`INSERT INTO $${table} SELECT * FROM $${table} WHERE ${where}`)),
    alter: async (table, set, where) => void (await run(`UPDATE $${table} SET ${set} WHERE ${where}`)),
    copy: async (table, as) => void (await run(`CREATE TABLE $${as} AS SELECT * FROM $${table}`)),
  };
}

/** A file of DuckDB. */
export function duckDbWarehouse(): TestWarehouse {
  const address = join(freshFolder(), "o'hara [1].duckdb");
  const run: Run = async (sql) => {
    const instance = await duckDbApi().DuckDBInstance.create(address);
    const connection = await instance.connect();
    try {
      const reader = await connection.runAndReadAll(sql.replaceAll('$', 'mirror.'));
      return reader.getRowsJson().map((row) => row.map((value) => textOf(value)));
    } finally {
      connection.closeSync();
      instance.closeSync();
    }
  };
  return { address, place: warehousePlace(address, 'mirror', null), read: run, ...changedBy(run) };
}

/** A schema of its own in the database at an address. */
export function postgresWarehouse(address: string): TestWarehouse {
  const schema = `test_${randomBytes(6).toString('hex')}`;
  const run: Run = async (sql) => {
    const client = new pg.Client({ connectionString: address });
    await client.connect();
    try {
      const { rows } = await client.query<unknown[]>({ text: sql.replaceAll('$', `${schema}.`), rowMode: 'array' });
      return rows.map((row) => row.map((value) => textOf(value)));
    } finally {
      await client.end();
    }
  };
  onTestFinished(async () => void (await run(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)));
  return { address, place: warehousePlace(address, schema, null), read: run, ...changedBy(run) };
}

/** A database of its own in the server at an address. */
export function clickHouseWarehouse(address: string): TestWarehouse {
  const schema = `test_${randomBytes(6).toString('hex')}`;
  const send = async (sql: string): Promise<string> => {
    const body = sql.replaceAll('$', `${schema}.`);
    const answer = await fetch(address.replace(/^clickhouse/, 'http'), { method: 'POST', body });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.text();
  };
  const read: Run = async (sql) =>
    (await send(`${sql} FORMAT JSONCompactStringsEachRow`))
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as string[]);
  const settled = 'SETTINGS mutations_sync = 1';
  onTestFinished(async () => void (await send(`DROP DATABASE IF EXISTS ${schema} SYNC`)));
  return {
    address,
    place: warehousePlace(address, schema, null),
    read,
    remove: async (table, where) => void (await send(`ALTER TABLE $${table} DELETE WHERE ${where} ${settled}`)),
    double: async (table, where) => void (await send(`INSERT INTO $${table} SELECT * FROM $${table} WHERE ${where}`)),
    alter: async (table, set, where) =>
      void (await send(`ALTER TABLE $${table} UPDATE ${set} WHERE ${where} ${settled}`)),
    copy: async (table, as) => void (await send(`CREATE TABLE $${as} ENGINE = Log AS SELECT * FROM $${table}`)),
  };
}
