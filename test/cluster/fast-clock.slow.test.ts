import { expect, it } from 'vitest';
import { stopAll } from './cluster-workers.ts';
import { openFaultWorld } from './fault-world.ts';

it('a clock that is two minutes ahead shows on the ledger, which verifies', async () => {
  const world = await openFaultWorld();
  const { on, worker, until, isDone } = world;
  const fast = { env: { CLOCK_AHEAD_MS: String(1.9 * 60_000) } };
  await world.ask('fast', fast);
  const right = worker('right');
  await until('all is erased', () => isDone('right'));
  await stopAll([right]);
  await world.assertWhole(['right']);
  await world.ask();
  const ahead = worker('fast', fast);
  await until('all is erased', () => isDone('fast'));
  await stopAll([ahead]);
  await world.assertWhole(['fast', 'right']);
  const verified = await on('desk', ['audit', 'verify']);
  expect(verified).toMatchObject({ code: 0, stdout: expect.stringContaining('the clock was set back') });
}, 900_000);
