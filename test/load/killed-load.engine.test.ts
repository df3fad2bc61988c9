import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { performance } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { openWorkspace, unlimited } from '../cli/workspace.ts';
import { jsonOf } from '../cli/run-cli.ts';
import { openDatabaseReadOnly } from '../../src/mirror/database.ts';
import { clickHouseWarehouse, duckDbWarehouse, postgresWarehouse, type TestWarehouse } from './warehouses.ts';

const { LOAD_POSTGRES = '', LOAD_CLICKHOUSE = '' } = process.env;
const engines: Record<string, () => TestWarehouse> = {
  DuckDB: duckDbWarehouse,
  Postgres: () => postgresWarehouse(LOAD_POSTGRES),
  ClickHouse: () => clickHouseWarehouse(LOAD_CLICKHOUSE),
};
/** `DELTAS=5` is for the slow set. */
const deltas = Number(process.env['DELTAS'] ?? 2);
const [persons, killsEach] = [deltas * 4000, 2];

/** Moments of a load, as shares of its time, most of them after its start; the same in each run. */
function* moments(): Generator<number, never> {
  for (let seed = 7; ; seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) yield 0.2 + (0.8 * seed) / 2 ** 31;
}

test('a load that is killed at any moment is made good by the next, through deltas, in each engine', async () => {
  await using workspace = await openWorkspace({ persons, recordings: 2000, churn: 20 });
  const { dataDir, run, start } = workspace;
  const warehouses = Object.entries(engines).map(([engine, open]) => ({ engine, warehouse: open(), tookMs: 2000 }));
  const moment = moments();
  let kills = 0;
  const ends = [0, 4];
  for (let delta = 0; delta <= deltas; delta += 1) {
    expect(ends).toContain((await run(['sync', ...unlimited])).code);
    expect(ends).toContain((await run(['export', '--kind', delta === 0 ? 'full' : 'delta'])).code);
    const db = openDatabaseReadOnly(dataDir);
    const mirrored = db.prepare('SELECT uuid, name FROM persons ORDER BY uuid').raw().all() as string[][];
    db.close();
    for (const one of warehouses) {
      const { engine, warehouse } = one;
      const command = ['load', '--into', warehouse.address, '--schema', warehouse.place.schema];
      for (let kill = 0; kill < killsEach; kill += 1) {
        const running = start(command);
        await wait(moment.next().value * one.tookMs);
        running.child.kill('SIGKILL');
        if ((await running.ended).code === null) kills += 1;
      }
      const startedMs = performance.now();
      const loaded = await run([...command, '--json']);
      one.tookMs = performance.now() - startedMs;
      expect(ends, `${engine}, delta ${delta}: ${loaded.stderr}`).toContain(loaded.code);
      const verified = await run([
        'snapshots',
        '--verify',
        warehouse.address,
        '--schema',
        warehouse.place.schema,
        '--json',
      ]);
      expect(jsonOf(verified)).toMatchObject({ warehouse: { tables: expect.any(Array) as unknown } });
      expect({ engine, delta, code: verified.code, said: verified.stderr }).toEqual({
        engine,
        delta,
        code: 0,
        said: '',
      });
      const held = await warehouse.read('SELECT person_uuid, name FROM $persons ORDER BY person_uuid');
      expect(held.length).toBe(mirrored.length);
      // Nothing stays of the loads that were killed.
      const tables = `SELECT count(*) FROM information_schema.tables WHERE table_schema = '${warehouse.place.schema}'`;
      expect(await warehouse.read(tables)).toEqual([[String((jsonOf(loaded) as { tables: unknown[] }).tables.length)]]);
      expect(held).toEqual(mirrored);
    }
  }
  // Some loads end before they are killed.
  expect(kills).toBeGreaterThan((warehouses.length * (deltas + 1) * killsEach) / 2);
});
