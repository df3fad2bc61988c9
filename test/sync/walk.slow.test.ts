import fc from 'fast-check';
import { expect, it } from 'vitest';
import { anyRun, mutants, walkBy, walkDrifting } from './walk-model.ts';

const runs = 40_000;

it('has seen every row that was there throughout, in any of very many interleavings', async () => {
  let complete = 0;
  let requests = 0;
  await fc.assert(
    fc.asyncProperty(anyRun, async (run) => {
      const outcome = await walkDrifting(run);
      requests += outcome.requests;
      expect(outcome.reason).not.toBe('windows_limit');
      if (outcome.reason !== null) return;
      complete += 1;
      expect(outcome.missed).toEqual([]);
    }),
    { numRuns: runs },
  );
  process.stdout.write(`${runs} interleavings, ${requests} requests: ${complete} walks complete, none missed a row\n`);
  expect(complete).toBeGreaterThan(runs * 0.7);
});

it.each(Object.entries(mutants))('how often a wrong walk is wrong: %s', (name, judge) => {
  const outcomes = fc.sample(anyRun, 5000).map((run) => walkBy(run, judge));
  const wrong = outcomes.filter(
    ({ reason, missed }) => reason === 'windows_limit' || (reason === null && missed.length > 0),
  );
  process.stdout.write(`${name}: ${wrong.length} of ${outcomes.length} walks miss rows or never end\n`);
  expect(wrong.length).toBeGreaterThan(0);
});
