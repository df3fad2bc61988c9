import { expect, it } from 'vitest';
import { answer } from './upstream/upstream-world.ts';
import { openErasureWorld } from './erasure-world.ts';
import { reuseDuckDb } from '../snapshot/one-duckdb.ts';

reuseDuckDb();

it('one row that the service refuses the key keeps no other from being let in again', async () => {
  const settings = { 'budget.concurrency': 1, 'deletions.maxShare': 1, 'deletions.collectHours': 0 };
  const world = await openErasureWorld(
    5,
    Object.entries(settings).map(([path, value]) => ({ path, value })),
  );
  const uuids = ['ann', 'bob', 'cid'].map((id) => world.create([id]));
  await world.sync();
  for (const uuid of uuids) world.sandbox.act({ do: 'delete', uuid });
  await world.sync();
  await world.reconcileToTheEnd();
  for (const uuid of uuids) world.sandbox.act({ do: 'resurrect', uuid });
  await world.sync();
  let refused: string | undefined;
  world.intercept(({ path }, send) => {
    const [asked] = /\/persons\/\d+\//.exec(path) ?? [];
    refused ??= asked;
    return asked !== undefined && asked === refused ? Promise.resolve(answer(403, '{}')) : send();
  });
  expect(await world.reconcile()).toMatchObject({ listedAgain: { letIn: 2, staysOut: 1 } });
});
