import { describe } from 'vitest';
import { testLoad } from './load-suite.ts';
import { duckDbWarehouse } from './warehouses.ts';

describe('a file of DuckDB', () => {
  testLoad(duckDbWarehouse);
});
