import { expect, it } from 'vitest';
import { stopAll, type Ways } from './cluster-workers.ts';
import { openFaultWorld } from './fault-world.ts';

const aheadBy = (minutes: number): Ways => ({ env: { CLOCK_AHEAD_MS: String(minutes * 60_000) } });

it.each([
  ['ahead', 180],
  ['behind', -180],
] as const)(
  'a machine whose clock is hours %s is told so, and holds nothing up',
  async (_which, minutes) => {
    const world = await openFaultWorld({ others: ['blog'] });
    const { on, worker, until, isDone } = world;
    const wrong = aheadBy(minutes);
    expect(await on('wrong', ['sync'], wrong)).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/the clock of this machine is too far from that of the store/),
    });
    expect(await world.copies()).toEqual([]);
    await world.ask();
    const bad = worker('wrong', wrong);
    await until('the wrong one lives', ({ machines }) =>
      machines.some(({ name, isLive }) => name === 'wrong' && isLive),
    );
    const good = worker('right');
    await until('all is with the right one', ({ projects }) => projects.every(({ holder }) => holder === 'right'));
    await until('all is erased', () => isDone('right'));
    await stopAll([bad, good]);
    await world.assertWhole(['wrong', 'right']);
    expect((await bad.ended).stderr).toMatch(/could not be taken.*|.*the clock of this machine is too far/);
  },
  900_000,
);
