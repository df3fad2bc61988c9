import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { stopAll } from './cluster-workers.ts';
import { openFaultWorld } from './fault-world.ts';
import { faultyWays } from './network.ts';

const rounds = 6;
const faultsEach = 8;

it('whatever happens to the ways of a machine, nothing is lost', async () => {
  const world = await openFaultWorld();
  const { worker, until, isDone } = world;
  const { postgres, bucket, ways } = await faultyWays(world);
  for (let round = 0; round < rounds; round += 1) {
    const told: string[] = [];
    await world.ask();
    const workers = [worker('one', ways), worker('two')];
    try {
      await until('held', ({ projects }) => projects[0]?.holder !== null);
      for (let fault = 0; fault < faultsEach; fault += 1) {
        const [name, way] = randomInt(2) === 0 ? (['postgres', postgres] as const) : (['bucket', bucket] as const);
        const size = randomInt(1, 60_000);
        const kind = (['cut', 'delay', 'stall'] as const)[randomInt(3)];
        told.push(`${kind} ${name} ${size}`);
        if (kind === 'cut') way.cut(size);
        else way.set(kind === 'delay' ? size / 200 : 'stalled');
        await delay(500 + (kind === 'stall' ? size / 4 : size / 30));
        way.set(0);
      }
      await until('all is erased', () => isDone('one') || isDone('two'));
      await stopAll(workers);
      await world.assertWhole(['one', 'two']);
    } catch (cause) {
      throw new Error(told.join(', '), { cause });
    }
  }
  expect(world.sandbox.requests().length).toBeGreaterThan(0);
});

it('a command names what does not answer, and leaves nothing behind; a worker ends all the same', async () => {
  const world = await openFaultWorld();
  const { on, until, worker } = world;
  const { postgres, bucket, ways } = await faultyWays(world);
  const one = worker('one', ways);
  await until('held by one', ({ projects }) => projects[0]?.holder === 'one');
  postgres.set('stalled');
  const away = await on('three', ['sync'], ways);
  expect(away).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the database of the cluster does not answer'),
  });
  one.child.kill('SIGTERM');
  const began = Date.now();
  expect((await one.ended).stderr).toMatch(/"cause":"the database of the cluster does not answer"/);
  expect(Date.now() - began).toBeLessThan(60_000);
  postgres.set(0);
  bucket.set('stalled');
  const once = ['--set', 'retry.attemptsMax=1'];
  const silent = await on('three', ['sync', '--wait', ...once], ways);
  expect(silent).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/the store of s3:\/\/state\/\S+ does not answer/),
  });
  expect(await world.copies()).not.toContainEqual(expect.objectContaining({ machine: 'three' }));
  await world.succeed('desk', 'sync', '--wait');
});
