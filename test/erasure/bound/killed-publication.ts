import { expect } from 'vitest';
import { readLedger } from '../../../src/ledger/ledger.ts';
import { listRequests } from '../../../src/mirror/erasure-requests.ts';
import { pointText, killPoints, type KillPoint } from '../../kill/kill-point.ts';
import { countOperations } from '../../kill/operation.ts';
import { watchFiles } from '../../kill/watch-files.ts';
import { watchSql } from '../../kill/watch-sql.ts';
import type { ErasureWorld } from '../erasure-world.ts';
import { differencesOf, keepCopy, openBoundWorld, placesOf, problemsOf } from './bound-world.ts';

/**
 * A job that publishes: an export, which retires old snapshots; a reconciliation, which rewrites published files; or one that
 * finds older files in their place.
 */
export type PublishingJob = 'publish' | 'reconcile' | 'mend';

/** A world of which one job can be killed again and again. Anna is erased and her request sealed; Bert has asked to be. */
export type KillableWorld = {
  /** The points at which the job changes published files or the ledger's records of them, in the job's order. */
  points: (job: PublishingJob) => Promise<KillPoint[]>;
  /** Kills the job at the point. Fails unless the next jobs take what it left for their own, and end as if nothing had been. */
  assertSurvives: (job: PublishingJob, point: KillPoint, next: 'sync' | PublishingJob) => Promise<void>;
};

/** Prepares the world, with as many snapshots as are kept, so that the next export retires some. */
export async function openKillableWorld(): Promise<KillableWorld> {
  const { world, uuids } = await openBoundWorld();
  const { 'anna-canary': anna = '', 'bert-canary': bert = '' } = uuids;
  await world.syncAndPublish();
  const putOlderBack = keepCopy(world);
  await world.request([{ kind: 'uuid', value: anna }]);
  await world.reconcileToTheEnd();
  expect(listRequests(world.db(), 'all').map(({ state }) => state)).toEqual(['sealed']);
  for (let times = 0; times < 3; times += 1) {
    changeSomebody(world);
    await world.publish();
  }
  await world.request([{ kind: 'uuid', value: bert }]);
  const putBack = keepCopy(world);
  let published = 4;
  const publish: typeof world.publish = (kill) => {
    published += 1;
    changeSomebody(world);
    return world.publish(kill);
  };
  const run = { publish, reconcile: world.reconcile, mend: world.reconcile, sync: world.sync };
  const begin = async (job: PublishingJob): Promise<void> => {
    // Every other one is a delta; a full one retires.
    if (published % 2 === 1) await publish();
    putBack(['folder', 'database', 'keys', 'ledger', 'reports']);
    if (job === 'mend') putOlderBack(['folder']);
    if (![...world.sandbox.living()].some(({ uuid }) => uuid === bert))
      world.sandbox.act({ do: 'resurrect', uuid: bert });
  };
  return {
    points: async (job) => {
      await begin(job);
      const { pass, executions } = countOperations(null, () => undefined);
      const stopWatching = [watchFiles(world.dataDir, pass), watchSql(world.dataDir, pass)];
      try {
        await run[job]();
      } finally {
        for (const stop of stopWatching.toReversed()) stop();
      }
      const isOfFiles = /snapshots|tmp\/snapshot|ledger: (?:publish|intent snapshot|result snapshot)/;
      const isOfMending = /ledger: |^COMMIT|tmp\/snapshot/;
      const isWanted = job === 'mend' ? isOfMending : isOfFiles;
      return killPoints(executions().filter(({ operation }) => isWanted.test(operation)));
    },
    assertSurvives: async (job, point, next) => {
      await begin(job);
      try {
        expect(isKilled(await run[job](point))).toBe(true);
        if (job === 'mend') {
          // What is not mended yet is refused.
          const { length } = await differencesOf(world);
          const ended = await run[next]().then(
            () => 'done',
            () => 'refused',
          );
          expect(ended).toBe(length > 0 && next !== 'reconcile' ? 'refused' : 'done');
        } else {
          expect(await differencesOf(world)).toEqual([]);
          await run[next]();
          expect(await differencesOf(world)).toEqual([]);
          expect(namesIn(world, ['differs', 'mended', 'reopened'])).toEqual([]);
        }
        await world.reconcile();
        expect(underWay(world)).toEqual([]);
        await publish();
        expect(await problemsOf(world)).toEqual([]);
        for (const name of ['anna-canary', 'bert-canary']) expect(await placesOf(world, name)).toEqual([]);
      } catch (cause) {
        throw new Error(`${job}, killed ${pointText(point)}, then ${next}`, { cause });
      }
    },
  };
}

/** A row of each list has changed: an unchanged mirror would not be published again. */
function changeSomebody(world: ErasureWorld): void {
  for (const [dataset, key] of [
    ['persons', 'uuid'],
    ['recordings', 'id'],
  ])
    world.db().exec(`INSERT INTO changes (dataset, key, op, at)
      SELECT '${dataset}', ${key}, 'upsert', '2026-01-01T00:00:00Z' FROM ${dataset} ORDER BY ${key} DESC LIMIT 1`);
}

function isKilled(ended: unknown): boolean {
  // A reconciliation that was killed has no result.
  return ended === true || ended === undefined;
}

/** The snapshots of which the ledger does not know whether they stand. */
function underWay({ dataDir }: ErasureWorld): string[] {
  return [...readLedger(dataDir).bound.publications.all()].flatMap(({ snapshotId, intended }) =>
    intended === undefined ? [] : [snapshotId],
  );
}

function namesIn({ dataDir }: ErasureWorld, types: readonly string[]): string[] {
  return [...readLedger(dataDir).entries()].flatMap(({ type }) => (types.includes(type) ? [type] : []));
}
