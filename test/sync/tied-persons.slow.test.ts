import { expect, it } from 'vitest';
import { missingAfter, openSyncWorld, wronglyDeleted } from './sync-world.ts';

const orders = ['by-uuid', 'anew-on-each-page'] as const;
const worlds = [21, 40, 300, 900, 2500].flatMap((oldestTied) =>
  [100, 1000].flatMap((pageSize) =>
    // The public service serves 50,000 persons at once. Others serve less than a moment.
    [50_000, 500].flatMap((personsLimitMax) =>
      orders.map((tieOrder) => ({ oldestTied, pageSize, personsLimitMax, tieOrder })),
    ),
  ),
);

/** What a service with such a list and the program are given. */
function openTied({ pageSize, ...live }: (typeof worlds)[number], churn = 0) {
  return openSyncWorld({ persons: 2500, seed: live.oldestTied, profile: 'live', churn, live }, [
    { path: 'persons.pageSize', value: pageSize },
  ]);
}

// Before, most of these ended incomplete (no progress), so that no person was ever published.
it.each(worlds)(
  'persons of one moment: each pass is complete, and rows gone are seen to be gone: %o',
  async (world) => {
    const tied = await openTied(world);
    const living = (): string[] => [...tied.sandbox.living()].map(({ uuid }) => uuid);
    // The second pass meets rows that are known and not read.
    for (let pass = 0; pass < 2; pass += 1) expect(await tied.sync()).toMatchObject({ verdict: 'complete', rounds: 1 });
    expect(tied.mirrored()).toEqual(new Set(living()));
    for (const uuid of living().slice(-5)) tied.sandbox.act({ do: 'delete', uuid });
    expect(await tied.sync()).toMatchObject({ verdict: 'complete' });
    for (let round = 0; round < 2; round += 1) await tied.reconcile();
    expect(tied.mirrored()).toEqual(new Set(living()));
    await tied.close();
  },
);

it.each([100, 1000])('misses nobody of one moment while people come and go, at pages of %i', async (pageSize) => {
  for (const oldestTied of [40, 900]) {
    const order = { tieOrder: 'anew-on-each-page', personsLimitMax: 50_000 } as const;
    const tied = await openTied({ oldestTied, pageSize, ...order }, 2);
    for (let round = 0; round < 2; round += 1) {
      const since = tied.sandbox.version();
      expect(await tied.sync()).toMatchObject({ verdict: 'complete', reason: null });
      expect(missingAfter(tied, since)).toBe(0);
      await tied.reconcile();
      expect(wronglyDeleted(tied)).toBe(0);
    }
    await tied.close();
  }
});
