import { describe, expect, it } from 'vitest';
import { missingAfter, openSyncWorld, wronglyDeleted } from './sync-world.ts';

const project = { persons: 50_000, seed: 11, profile: 'live', churn: 3, faults: 'mixed' } as const;

describe('50,000 persons, changing and with faults, while they are paged', () => {
  it.each([
    ['with overlaps', 'auto'],
    ['as plain paging does it', 0],
  ] as const)('%s', async (name, overlap) => {
    const world = await openSyncWorld(project, [
      { path: 'persons.pageSize', value: 100 },
      { path: 'persons.overlap', value: overlap },
    ]);
    const since = world.sandbox.version();
    const pass = await world.sync();
    await world.reconcile();
    await world.reconcile();
    const stable = [...world.sandbox.stableSince(since)].length;
    const missing = missingAfter(world, since);
    const wrong = wronglyDeleted(world);
    process.stdout.write(
      `${name}: ${pass.verdict} (${pass.reason ?? 'proved'}), ${pass.windows} pages, ${pass.stepBacks} step-backs, ` +
        `${stable} stable persons, ${missing} missing, ${wrong} living persons deleted\n`,
    );
    expect(wrong).toBe(0);
    if (overlap === 0) expect([pass.verdict, missing > 0]).toEqual(['incomplete', true]);
    else expect(pass.verdict === 'complete' ? missing : 0).toBe(0);
    await world.close();
  });
});
