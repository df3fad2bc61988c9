import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { listRequests } from '../../src/mirror/erasure-requests.ts';
import { stopAll } from './cluster-workers.ts';
import { killable, openFaultWorld } from './fault-world.ts';

const fetched = { operation: 'be answered GET /state/cluster/PROJECT/state/project', nth: 1, moment: 'before' };

it('a command that is stopped while it fetches keeps others out of its folder, and erasures wait for its copy', async () => {
  const world = await openFaultWorld();
  const { start, worker, until, isDone } = world;
  const stopped = start('one', ['sync', '--project', 'shop'], {
    env: { NODE_OPTIONS: killable, KILL_POINT: JSON.stringify(fetched), KILL_SIGNAL: 'SIGSTOP' },
  });
  await stopped.output('stderr', /killed /);
  await world.ask();
  // Its own worker may have the project by now, but not the folder.
  const own = worker('one');
  await own.output('stderr', /another process of this machine still works in/);
  const two = worker('two');
  await until('held by two', ({ projects }) => projects[0]?.holder === 'two');
  const open = (): number => {
    try {
      return world.mirrorOf('two', (db) => listRequests(db, 'open').length) ?? 0;
    } catch {
      // The copy is being fetched, and half of the mirror is there.
      return 0;
    }
  };
  await until('the deletions are asked for', () => open() > 0);
  // As long as a request takes that waits for nothing.
  await delay(8_000);
  expect(open()).toBeGreaterThan(0);
  expect(await world.copies()).toContainEqual({ machine: 'one', project: expect.any(String) });
  stopped.child.kill('SIGCONT');
  expect(await stopped.ended).toMatchObject({ code: 5 });
  await until('all is erased', () => isDone('one') || isDone('two'));
  await stopAll([own, two]);
  await world.assertWhole(['one', 'two']);
}, 900_000);
