import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { stopAll } from './cluster-workers.ts';
import { openFaultWorld } from './fault-world.ts';
import { faultyWays } from './network.ts';

it('a machine whose ways to Postgres and the store are cut, delayed and stalled loses nothing, nor does the one that takes over', async () => {
  const world = await openFaultWorld();
  const { until, worker, isDone } = world;
  const { postgres, bucket, ways } = await faultyWays(world);
  await world.ask();
  const one = worker('one', ways);
  await one.output('stderr', /project taken/);
  for (const bytes of [1, 300, 5_000, 40_000]) {
    bucket.cut(bytes);
    postgres.cut(bytes);
    await delay(700);
  }
  bucket.set(20);
  postgres.set(20);
  await until('all is erased', () => isDone('one'));
  // It cannot say any more that it lives.
  await world.ask();
  const two = worker('two');
  await until('held by one again', ({ projects }) => projects[0]?.holder !== null);
  postgres.set('stalled');
  bucket.set(0);
  expect(await until('taken over', ({ projects }) => projects[0]?.holder === 'two')).toBeLessThan(120);
  postgres.set(0);
  await until('all is erased', () => isDone('one') || isDone('two'));
  await stopAll([one, two]);
  await world.assertWhole(['one', 'two']);
}, 900_000);
