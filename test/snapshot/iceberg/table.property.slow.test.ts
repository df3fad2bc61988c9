import { expect, test } from 'vitest';
import { playTables } from './table-world.ts';

test('whatever happens to the mirror, every table is what was published, and nobody erased is in it', async () => {
  const { delta, erase, lookedBack } = await playTables(25, 24, ['persons', 'distinct_ids', 'deletions']);
  expect(delta).toBeGreaterThan(10);
  expect(erase).toBeGreaterThan(10);
  expect(lookedBack).toBeGreaterThan(10);
}, 900_000);
