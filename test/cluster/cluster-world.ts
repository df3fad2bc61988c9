import { randomBytes } from 'node:crypto';
import process from 'node:process';
import pg from 'pg';
import { onTestFinished } from 'vitest';

const server = process.env['CLUSTER_DATABASE'];

/** A new database on the server of `.ci/cluster`, for one test: its address. */
export async function freshDatabase(): Promise<string> {
  if (server === undefined) throw new Error('CLUSTER_DATABASE is not set; `.ci/cluster` runs these tests');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await run(server, `CREATE DATABASE ${name}`);
  onTestFinished(async () => void (await run(server, `DROP DATABASE ${name} WITH (FORCE)`)));
  const address = new URL(server);
  address.pathname = `/${name}`;
  return address.href;
}

/** Runs one statement over a connection of its own. */
export async function run(address: string, sql: string, values: unknown[] = []): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  try {
    return (await client.query<object>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

/** Ends every other connection to a database, as a restart of its server does. */
export async function cutConnections(address: string): Promise<void> {
  await run(
    address,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
}
