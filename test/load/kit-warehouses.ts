import { readFileSync } from 'node:fs';
import pg from 'pg';
import { duckDbApi } from '../../src/snapshot/duckdb.ts';
import type { KitWarehouse } from './erase-kit-suite.ts';
import { clickHouseWarehouse, duckDbWarehouse, postgresWarehouse } from './warehouses.ts';

/** A file of DuckDB. */
export function duckDbKit(): KitWarehouse {
  const warehouse = duckDbWarehouse();
  return {
    ...warehouse,
    make: async (table, select) => void (await warehouse.read(`CREATE TABLE $${table} AS ${select}`)),
    insert: async (table, rows) => void (await warehouse.read(`INSERT INTO $${table} ${rows}`)),
    run: async (statements) => {
      const instance = await duckDbApi().DuckDBInstance.create(warehouse.address);
      const connection = await instance.connect();
      try {
        let report = '';
        for (const statement of statements) {
          const [row] = (await connection.runAndReadAll(statement)).getRowsJS();
          if (statement.startsWith('SELECT')) report = typeof row?.[0] === 'string' ? row[0] : '';
        }
        return report;
      } finally {
        connection.closeSync();
        instance.closeSync();
      }
    },
  };
}

/** A schema in Postgres. What psql does by itself is done here. */
export function postgresKit(address: string): KitWarehouse {
  const warehouse = postgresWarehouse(address);
  return {
    ...warehouse,
    make: async (table, select) => void (await warehouse.read(`CREATE TABLE $${table} AS ${select}`)),
    insert: async (table, rows) => void (await warehouse.read(`INSERT INTO $${table} ${rows}`)),
    run: async (statements) => {
      const client = new pg.Client({ connectionString: address });
      await client.connect();
      try {
        let report = '';
        for (const statement of statements) {
          const [, table, file = ''] = /^\\copy (\S+) FROM '(.*)'$/.exec(statement) ?? [];
          if (table) await client.query(`INSERT INTO ${table} VALUES ($1)`, [readFileSync(file, 'utf8').trim()]);
          if (statement.startsWith('\\')) continue;
          const { rows } = await client.query<[string]>({ text: statement, rowMode: 'array' });
          if (statement.startsWith('SELECT')) report = rows[0]?.[0] ?? '';
        }
        return report;
      } finally {
        await client.end();
      }
    },
  };
}

/** A database in ClickHouse. */
export function clickHouseKit(address: string): KitWarehouse {
  const warehouse = clickHouseWarehouse(address);
  const send = async (sql: string): Promise<string> => {
    const answer = await fetch(address.replace(/^clickhouse/, 'http'), { method: 'POST', body: sql });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.text();
  };
  const { schema } = warehouse.place;
  return {
    ...warehouse,
    make: async (table, select) =>
      void (await send(
        `CREATE TABLE ${schema}.${table} ENGINE = MergeTree ORDER BY tuple() AS ${select.replaceAll('$', `${schema}.`)}`,
      )),
    insert: async (table, rows) => void (await send(`INSERT INTO ${schema}.${table} ${rows}`)),
    run: async (statements) => {
      let report = '';
      for (const statement of statements) {
        const answer = await send(statement.startsWith('SELECT') ? `${statement} FORMAT TSVRaw` : statement);
        if (statement.startsWith('SELECT')) report = answer.trim();
      }
      return report;
    },
  };
}
