import { expect, test } from 'vitest';
import { playTables } from './table-world.ts';

test('whatever happens to the mirror, the table of persons is what was published, and nobody erased is in it', async () => {
  const { delta } = await playTables(3, 10, ['persons', 'deletions']);
  expect(delta).toBeGreaterThan(0);
});
