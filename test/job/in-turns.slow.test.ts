import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { addRequests } from '../../src/erasure/receive.ts';
import { runEraseJob } from '../../src/erasure/fence/restore-guard.ts';
import type { Clock } from '../../src/core/clock.ts';
import { openDatabaseReadOnly } from '../../src/mirror/database.ts';
import { listRuns } from '../../src/mirror/runs.ts';
import { runExportJob } from '../../src/worker/export-job.ts';
import { runReconcileJob } from '../../src/worker/reconcile-job.ts';
import { runSyncJob } from '../../src/worker/sync-job.ts';
import { scanInThisProcess } from '../erasure/scan-in-this-process.ts';
import { openSyncWorld } from '../sync/sync-world.ts';

/** The machine's time, in which nobody sleeps long. */
const clock: Clock = { now: () => Date.now(), sleep: (_ms, signal) => delay(1, undefined, { signal }) };

const erasing = [
  { path: 'persons.pageSize', value: 20 },
  { path: 'deletions.confirmations', value: 1 },
  { path: 'deletions.maxShare', value: 1 },
];

/** The program beside a sandbox, and what it does for others while it walks the list of persons. */
async function openWorld(seed: number, recordings = 0) {
  const world = await openSyncWorld({ persons: 90, seed, recordings }, erasing, clock);
  onTestFinished(() => world.close());
  scanInThisProcess();
  const { app } = world;
  const context = () => app.serviceContext(new AbortController().signal);
  const authority = { basis: 'objection', by: 'dpo', deleteEvents: true };
  return {
    ...world,
    add: (uuid: string) =>
      runEraseJob(context(), async (own) => {
        await addRequests(own, [{ kind: 'uuid', value: uuid }], authority);
        return { outcome: 'done', counts: {} };
      }),
    carryOut: () => runReconcileJob(context(), undefined),
    publish: () => {
      const source = openDatabaseReadOnly(app.settings.dataDir);
      return runExportJob(context(), { datasets: ['persons'], kind: 'full', source }).finally(() => source.close());
    },
    /** `atPage` is called with the number of each page, when it is in the mirror. */
    walk: (atPage: (page: number) => void) => {
      let page = 0;
      const onProgress = (): void => atPage((page += 1));
      return runSyncJob(context(), { datasets: ['persons'], mode: 'full', resume: true, onProgress });
    },
  };
}

it.each([1, 2, 3, 4, 5].flatMap((page) => [true, false].map((isFirst) => [page, isFirst] as const)))(
  'a pass gives way to requests, their erasure and an export after page %i, and misses nobody (a first pass: %s)',
  async (at, isFirst) => {
    const world = await openWorld(at);
    const db = world.app.database();
    if (!isFirst) await world.walk(() => undefined);
    const others: Promise<unknown>[] = [];
    let erased: string[] = [];
    const { passes } = await world.walk((page) => {
      if (page !== at || others.length > 0) return;
      // In the order of the list: one person at the top, and one whom the cursor names then, or has left behind.
      const rows = db.prepare<[], string>(`SELECT uuid FROM persons ORDER BY row_key`).pluck().all();
      erased = [rows[2] ?? '', rows[at % 2 === 0 ? 15 * at + 2 : 8 * at] ?? ''];
      const added = erased.map(world.add);
      others.push(...added, world.publish(), Promise.all(added).then(world.carryOut));
    });
    await Promise.all(others);
    await world.carryOut();
    expect(passes).toMatchObject([{ verdict: 'complete', reason: null }]);
    const living = new Set([...world.sandbox.living()].map(({ uuid }) => uuid));
    expect(erased.filter((uuid) => living.has(uuid) || world.mirrored().has(uuid))).toEqual([]);
    expect(world.mirrored()).toEqual(living);
    const runs = listRuns(db, 9);
    expect(runs.every(({ outcome, reason }) => outcome !== 'failed' && reason === null)).toBe(true);
    // Once for the three that came together, and after one more page for the one that came then.
    expect(runs.find(({ job }) => job === 'sync')?.counts).toContain('"gaveWay":2');
    const begunAgain = db.prepare(`SELECT count(*) FROM passes WHERE reason = 'superseded'`).pluck().get();
    expect(begunAgain).toBe(at % 2 === 0 ? 1 : 0);
  },
);

it('a reconciliation gives way to a request while it asks the service for recordings, and ends what it has begun', async () => {
  const world = await openWorld(3, 60);
  const db = world.app.database();
  await world.walk(() => undefined);
  await world.sync('recordings');
  const seen = `SELECT DISTINCT persons.uuid FROM persons JOIN recordings ON recordings.person_uuid = persons.uuid ORDER BY 1`;
  const [first = '', second = ''] = db.prepare<[], string>(seen).pluck().all();
  await world.add(first);
  const ended: string[] = [];
  await Promise.all([
    world.carryOut().then(() => ended.push('reconcile')),
    world.add(second).then(() => ended.push('add')),
  ]);
  expect(ended).toEqual(['add', 'reconcile']);
  expect(listRuns(db, 9).find(({ job }) => job === 'reconcile')?.counts).toContain('"gaveWay":1');
  await world.carryOut();
  const living = new Set([...world.sandbox.living()].map(({ uuid }) => uuid));
  expect([first, second].filter((uuid) => living.has(uuid) || world.mirrored().has(uuid))).toEqual([]);
  const targets = db.prepare<[], string>(
    `SELECT DISTINCT status FROM erasure_targets WHERE target IN ('upstream.person', 'upstream.recordings')`,
  );
  expect(targets.pluck().all()).toEqual(['done']);
});
