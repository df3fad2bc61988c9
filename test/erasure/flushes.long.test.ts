import { expect, it } from 'vitest';
import type { GivenIdentifier } from '../../src/erasure/request/box.ts';
import { listRequests } from '../../src/mirror/erasure-requests.ts';
import { watchFiles } from '../kill/watch-files.ts';
import { watchSql } from '../kill/watch-sql.ts';
import { openErasureWorld } from './erasure-world.ts';

/** How often the disk was flushed for the ledger, and how many transactions of the mirror ended, while persons were erased. */
async function flushesFor(persons: number): Promise<{ ledger: number; mirror: number; states: string[] }> {
  const settings = [
    { path: 'erasure.maxBatch', value: 1000 },
    { path: 'export.partRows', value: 1000 },
  ];
  const world = await openErasureWorld(7, settings, { persons, profile: 'live', live: { bulkDeletion: 'sync' } });
  await world.syncAndPublish();
  const uuids = world.db().prepare<[], string>('SELECT uuid FROM persons ORDER BY uuid').pluck().all();
  expect(uuids.length).toBe(persons);
  const counts = { ledger: 0, mirror: 0 };
  const stop = [
    watchFiles(world.dataDir, ({ name, execute }) => {
      if (name.startsWith('fsync ledger: ')) counts.ledger += 1;
      return execute();
    }),
    watchSql(world.dataDir, ({ name, execute }) => {
      // A transaction that changed nothing flushes nothing.
      if (name.startsWith('COMMIT') && name !== 'COMMIT after BEGIN IMMEDIATE') counts.mirror += 1;
      return execute();
    }),
  ];
  try {
    const given = uuids.map((value): GivenIdentifier => ({ kind: 'uuid', value }));
    await world.request(given, undefined, false);
    await world.reconcile();
  } finally {
    for (const each of stop) each();
  }
  return { ...counts, states: listRequests(world.db(), 'all').map(({ state }) => state) };
}

it('the disk is flushed for steps, and not for each of their requests', async () => {
  const few = await flushesFor(3);
  const many = await flushesFor(23);
  const ended = (states: readonly string[]): number => states.filter((state) => state === 'sealed').length;
  expect(ended(few.states)).toBeGreaterThan(0);
  expect(ended(many.states)).toBeGreaterThan(15);
  // More persons stand in a few more files, and can need another round at the service.
  expect(many.ledger - few.ledger).toBeLessThan(15);
  expect(many.mirror - few.mirror).toBeLessThan(20);
});
