import { expect, test } from 'vitest';
import { lookAt, type Look } from '../../src/load/look.ts';
import type { WarehouseTable } from '../../src/load/plan.ts';

// After a damaged snapshot was deleted, its table kept who had been erased, and the certificate had nothing that was not covered.
test('a table of a dataset that is not published now is one that nobody looks at', async () => {
  const table: WarehouseTable = { comment: null, columns: new Map() };
  const before = new Map(['recordings', 'old'].map((name) => [name, table]));
  expect(await lookAt({ schema: 'mirror' } as Look, [], before)).toEqual(
    ['mirror.recordings', 'mirror.old'].map((name) => ({ table: name, found: 0, left: null })),
  );
});
