import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { addRequests } from '../../src/erasure/receive.ts';
import { runEraseJob } from '../../src/erasure/fence/restore-guard.ts';
import type { Clock } from '../../src/core/clock.ts';
import { openDatabaseReadOnly } from '../../src/mirror/database.ts';
import { listRuns } from '../../src/mirror/runs.ts';
import { runExportJob } from '../../src/worker/export-job.ts';
import { runReconcileJob } from '../../src/worker/reconcile-job.ts';
import { runSyncJob, type SyncJobResult } from '../../src/worker/sync-job.ts';
import { scanInThisProcess } from '../erasure/scan-in-this-process.ts';
import { openSyncWorld } from '../sync/sync-world.ts';

/** The machine's time, in which nobody sleeps long. */
const clock: Clock = { now: () => Date.now(), sleep: (_ms, signal) => delay(1, undefined, { signal }) };

const erasing = [
  { path: 'persons.pageSize', value: 20 },
  { path: 'deletions.confirmations', value: 1 },
  { path: 'deletions.maxShare', value: 1 },
];

async function openWorld(seed: number) {
  const world = await openSyncWorld({ persons: 90, seed }, erasing, clock);
  onTestFinished(() => world.close());
  scanInThisProcess();
  const { app } = world;
  const context = () => app.serviceContext(new AbortController().signal);
  const guests = {
    add: (uuid: string) =>
      runEraseJob(context(), async (own) => {
        const given = [{ kind: 'uuid' as const, value: uuid }];
        const added = await addRequests(own, given, { basis: 'objection', by: 'dpo', deleteEvents: true });
        return { outcome: 'done', counts: {}, added };
      }),
    reconcile: () => runReconcileJob(context(), undefined),
    publish: () => {
      const source = openDatabaseReadOnly(app.settings.dataDir);
      return runExportJob(context(), { datasets: ['persons'], kind: 'full', source }).finally(() => source.close());
    },
  };
  /** A pass over the persons; `atPage` is called with the number of each page, when it is in the mirror. */
  const sync = (atPage: (page: number) => void, resume = true): Promise<SyncJobResult> => {
    let page = 0;
    const onProgress = (): void => atPage((page += 1));
    return runSyncJob(context(), { datasets: ['persons'], mode: 'full', resume, onProgress });
  };
  return { ...world, guests, sync };
}

describe('a pass gives way to requests, their erasure and an export', () => {
  it.each([1, 2, 3, 4, 5].flatMap((page) => [true, false].map((isFirst) => [page, isFirst] as const)))(
    'after page %i, and misses nobody (a first pass: %s)',
    async (at, isFirst) => {
      const { guests, sync, ...world } = await openWorld(at);
      const { app, sandbox } = world;
      if (!isFirst) await sync(() => undefined);
      const others: Promise<unknown>[] = [];
      let erased: string[] = [];
      const result = await sync((page) => {
        if (page !== at || others.length > 0) return;
        // In the order of the list: one person at the top, and one below. The cursor of the pass may name both.
        const rows = app.database().prepare<[], string>(`SELECT uuid FROM persons ORDER BY row_key`).pluck().all();
        erased = [rows[2] ?? '', rows[at % 2 === 0 ? 15 * at - 3 : 8 * at] ?? ''];
        const added = erased.map(guests.add);
        others.push(...added, guests.publish(), Promise.all(added).then(guests.reconcile));
      });
      await Promise.all(others);
      await guests.reconcile();
      expect(result.passes).toMatchObject([{ verdict: 'complete', reason: null }]);
      const living = new Set([...sandbox.living()].map(({ uuid }) => uuid));
      expect(erased.filter((uuid) => living.has(uuid) || world.mirrored().has(uuid))).toEqual([]);
      expect(world.mirrored()).toEqual(living);
      const runs = listRuns(app.database(), 9);
      expect(runs.map(({ outcome, reason }) => outcome === 'failed' || reason !== null)).not.toContain(true);
      // Twice: once for the three that came together, and after one more page for the one that came then.
      expect(JSON.parse(runs.find(({ job }) => job === 'sync')?.counts ?? '')).toMatchObject({ gaveWay: 2 });
    },
  );
});
