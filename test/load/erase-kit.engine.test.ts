import process from 'node:process';
import { describe } from 'vitest';
import { testKit } from './erase-kit-suite.ts';
import { clickHouseKit, postgresKit } from './kit-warehouses.ts';

// `.ci/loading` starts both.
const { LOAD_POSTGRES = '', LOAD_CLICKHOUSE = '' } = process.env;
describe('Postgres', () => {
  testKit(() => postgresKit(LOAD_POSTGRES));
});
describe('ClickHouse', () => {
  testKit(() => clickHouseKit(LOAD_CLICKHOUSE));
});
