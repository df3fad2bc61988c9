import { describe, expect, it } from 'vitest';
import { walkTied, type TiedWorld } from './tied-worlds.ts';
import { believing, mutantsOfMoments } from './walk-model.ts';

const oldests = [21, 40, 300, 900, 2500];

const worlds = [100, 1000].flatMap((pageSize) =>
  oldests.flatMap((oldest) =>
    [0, 60].flatMap((changes) =>
      // A live service serves 50,000 rows at once; others serve less than a moment.
      [50_000, 500].map((cap) => ({ pageSize, oldest, changes, cap })),
    ),
  ),
);

function worldOf({ pageSize, oldest, changes, cap }: (typeof worlds)[number], seed: number): TiedWorld {
  const moments = { rows: 1, oldest, order: 'by page' } as const;
  return { size: 2500, pageSize, moments, cap, changes, seed };
}

describe('a list of 2,500 rows of which the oldest share one moment, each page sorted anew', () => {
  it.each(worlds)('is walked to its end, and no row is missed: %o', (world) => {
    for (let seed = 1; seed <= 5; seed += 1)
      expect(walkTied(worldOf(world, seed))).toMatchObject({ reason: null, missed: [] });
  });
});

describe('a list whose rows of one moment stand in another order at each answer', () => {
  const moments = (oldest: number) => ({ rows: 1, oldest, order: 'by answer' }) as const;

  it.each([21, 300, 900])('is walked to its end where a window holds the moment of %i rows', (oldest) => {
    for (const changes of [0, 60])
      expect(
        walkTied({ size: 2500, pageSize: 100, moments: moments(oldest), cap: 50_000, changes, seed: 1 }),
      ).toMatchObject({ reason: null, missed: [] });
  });

  it.each([
    [100, 50_000],
    [100, 500],
    [1000, 500],
  ])('ends with the moment as the reason where pages of %i of %i served at most do not hold it', (pageSize, cap) => {
    const outcome = walkTied({ size: 2500, pageSize, moments: moments(2500), cap, changes: 0, seed: 1 });
    expect(outcome.reason).toBe('moment_too_large');
    expect(outcome.requests).toBeLessThan(400);
  });
});

it('says of how many rows a moment is that fits into no window', () => {
  const moments = { rows: 1, oldest: 2500, order: 'by page' } as const;
  const { evidence } = walkTied({ size: 3000, pageSize: 1000, moments, cap: 500, changes: 0, seed: 1 });
  expect(evidence).toMatchObject({ momentRows: 2500, isOrdered: true, rounds: 1 });
});

it('misses rows where a walk believes in an order within a moment, and none where it does not', () => {
  const moments = { rows: 270, oldest: 0, order: 'by answer' } as const;
  for (let seed = 1; seed <= 10; seed += 1) {
    const world = { size: 2500, pageSize: 100, moments, cap: 50_000, changes: 0, seed };
    expect(walkTied(world, believing).missed.length).toBeGreaterThan(0);
    expect(walkTied(world)).toMatchObject({ reason: null, missed: [] });
  }
});

it.each(Object.entries(mutantsOfMoments))('a walk that %s does not end complete', (_name, judge) => {
  const world = { pageSize: 100, oldest: 300, changes: 0, cap: 500 };
  expect(walkTied(worldOf(world, 1), judge).reason).not.toBeNull();
});
