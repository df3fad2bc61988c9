import { expect, test } from 'vitest';
import { checkHistories } from './delta-histories.ts';
import { reuseDuckDb } from '../snapshot/one-duckdb.ts';

reuseDuckDb();

test('whatever happens between them, a full snapshot and its deltas, loaded as documented, are the mirror', async () => {
  expect(await checkHistories(15)).toBeGreaterThan(5);
});
