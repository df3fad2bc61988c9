import { expect, onTestFinished, test } from 'vitest';
import type { MirroredDataset } from '../../src/contract/datasets.ts';
import { listHeldPlans } from '../../src/mirror/suspects.ts';
import { planReconcile, runReconcileJob } from '../../src/worker/reconcile-job.ts';
import { runSyncJob } from '../../src/worker/sync-job.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { openSyncWorld } from '../sync/sync-world.ts';

const named = { full: 'persons', recordings: 'recordings' } as const satisfies Record<string, MirroredDataset>;

/** A mirror of 40 persons and 10 recordings, where more than two deletions at once wait for approval. */
async function heldWorld() {
  const world = await openSyncWorld({ persons: 40, recordings: 10, seed: 5 }, [
    { path: 'deletions.maxCount', value: 2 },
    { path: 'deletions.confirmations', value: 1 },
    { path: 'dataDir', value: freshFolder() },
  ]);
  onTestFinished(() => world.close());
  const { app, sandbox } = world;
  const { signal } = new AbortController();
  const context = () => app.serviceContext(signal);
  const run = async (name: keyof typeof named): Promise<string> => {
    const { outcome } = await runSyncJob(context(), { name, datasets: [named[name]], mode: 'full', resume: true });
    return outcome;
  };
  const held = () => listHeldPlans(app.database()).map(({ plan, rows, heldAt }) => ({ plan, rows, heldAt }));
  await run('full');
  await run('recordings');
  return {
    ...world,
    context,
    run,
    held,
    reconcile: (approve?: string) => runReconcileJob(context(), approve),
    /** Deletes the oldest persons at the service. */
    remove: (count: number): void => {
      const uuids = [...sandbox.living()].slice(-count).map(({ uuid }) => uuid);
      for (const uuid of uuids) sandbox.act({ do: 'delete', uuid });
    },
    count: () => world.mirrored().size,
  };
}

const first = <T>([item]: T[]): T => {
  if (item === undefined) throw new Error('nothing is held');
  return item;
};

test('a held plan of persons holds runs that touch persons, and no run of recordings alone', async () => {
  const world = await heldWorld();
  world.remove(5);
  expect(await world.run('full')).toBe('held');
  expect(await world.run('recordings')).toBe('done');
  expect((await world.reconcile()).outcome).toBe('held');
  expect(world.held()).toHaveLength(1);
});

test('a plan that was replaced says by which, approves nothing, and is held since its beginning', async () => {
  const world = await heldWorld();
  world.remove(5);
  await world.run('full');
  const old = first(world.held());
  world.remove(2);
  await world.run('full');
  const now = first(world.held());
  expect(now).toMatchObject({ rows: 7, heldAt: old.heldAt });
  expect(now.plan).not.toBe(old.plan);

  await expect(world.reconcile(old.plan)).rejects.toMatchObject({
    code: 'usage',
    message: `plan ${old.plan} (5 persons) was replaced by plan ${now.plan} (7 persons), since other rows are no longer listed now; nothing was approved`,
    hint: `if all of these are right: analytics-mirror reconcile --approve ${now.plan}`,
  });
  expect(world.count()).toBe(40);

  expect((await world.reconcile(now.plan)).outcome).toBe('done');
  expect(world.count()).toBe(33);
  await expect(world.reconcile(now.plan)).rejects.toThrow(/^plan \w+ was approved at .* and holds nothing any more$/);
  await expect(world.reconcile('0123456789abcdef')).rejects.toThrow('there is no plan of that name');
});

test('a plan that a dry run has shown can be approved, though no run has held it yet', async () => {
  const world = await heldWorld();
  world.remove(5);
  await world.sync();
  const { db, published, settings, clock, service, signal } = world.context();
  const { plan } = await planReconcile({ db, published, settings, clock, service, signal });
  const shown = plan.absence.find(({ dataset }) => dataset === 'persons')?.hold?.plan;
  expect(shown).toMatch(/^[0-9a-f]{16}$/);
  expect((await world.reconcile(shown)).outcome).toBe('done');
  expect(world.count()).toBe(35);
});

test('rows that are listed again leave their plan; an approval is not used for the same rows a second time', async () => {
  const world = await heldWorld();
  const { sandbox } = world;
  const db = world.app.database();
  sandbox.act({ do: 'set_lists', empty: true });
  await world.run('full');
  const { plan } = first(world.held());
  sandbox.act({ do: 'set_lists', empty: false });
  await world.run('full');
  expect(world.held()).toEqual([]);
  await expect(world.reconcile(plan)).rejects.toThrow(/holds nothing any more: its persons are listed again/);

  db.prepare(
    `UPDATE deletion_plans SET approved_at = '2026-01-01T00:00:00.000Z', held_at = '2026-01-01T00:00:00.000Z'`,
  ).run();
  sandbox.act({ do: 'set_lists', empty: true });
  expect(await world.run('full')).toBe('held');
  const again = first(world.held());
  expect(again.plan).toBe(plan);
  expect(again.heldAt > '2026-01-01T00:00:00.000Z').toBe(true);
  await world.reconcile();
  expect(world.count()).toBe(40);
});
