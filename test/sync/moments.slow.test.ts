import fc from 'fast-check';
import { expect, it } from 'vitest';
import { walkTied, type TiedWorld } from './tied-worlds.ts';

/** Any list of 2,500 rows with a large moment, served in any way that keeps an order among its rows, however pages are sorted. */
const anyWorld: fc.Arbitrary<TiedWorld> = fc.record({
  size: fc.constant(2500),
  pageSize: fc.constantFrom(100, 250, 1000),
  moments: fc.record({
    rows: fc.constantFrom(1, 2, 50, 200, 500),
    oldest: fc.integer({ min: 2, max: 2500 }),
    order: fc.constantFrom('kept' as const, 'by page' as const),
  }),
  cap: fc.constantFrom(50_000, 500, 90),
  changes: fc.constantFrom(0, 20, 60, 200),
  seed: fc.integer({ min: 1, max: 1_000_000 }),
});

it('is complete and misses no row in 1,000 worlds with large moments', () => {
  const worlds = fc.sample(anyWorld, 1000);
  const reasons: Record<string, number> = {};
  let requests = 0;
  for (const world of worlds) {
    const outcome = walkTied(world);
    reasons[outcome.reason ?? 'complete'] = (reasons[outcome.reason ?? 'complete'] ?? 0) + 1;
    requests += outcome.requests;
    if (outcome.reason === null) expect({ world, missed: outcome.missed }).toEqual({ world, missed: [] });
    if (outcome.reason !== null) process.stdout.write(`${outcome.reason}: ${JSON.stringify(world)}\n`);
  }
  process.stdout.write(`1,000 worlds, ${requests} requests: ${JSON.stringify(reasons)}\n`);
  // A list of which a part is deleted again and again, at nearly every answer, may end with its large moment as the reason.
  expect(reasons['complete']).toBeGreaterThanOrEqual(990);
  expect(Object.keys(reasons).filter((reason) => !['complete', 'moment_too_large'].includes(reason))).toEqual([]);
});
