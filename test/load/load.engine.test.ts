import process from 'node:process';
import { describe } from 'vitest';
import { testLoad } from './load-suite.ts';
import { clickHouseWarehouse, postgresWarehouse } from './warehouses.ts';

// `.ci/loading` starts both.
const { LOAD_POSTGRES = '', LOAD_CLICKHOUSE = '' } = process.env;
describe('Postgres', () => {
  testLoad(() => postgresWarehouse(LOAD_POSTGRES));
});
describe('ClickHouse', () => {
  testLoad(() => clickHouseWarehouse(LOAD_CLICKHOUSE));
});
