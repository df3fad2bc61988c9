import { join } from 'node:path';
import { expect } from 'vitest';
import { listRequests } from '../../src/mirror/erasure-requests.ts';
import { listTargets } from '../../src/mirror/erasure-targets.ts';
import {
  assertErased,
  assertIntended,
  assertReadable,
  outcomeOf,
  residueOf,
  type Outcome,
} from './erasure-invariants.ts';
import { openStage, reading, type ErasureScene, type Stage } from './erasure-scene.ts';
import { diesAt, killRun, rehearseRun } from './killed-run.ts';
import { digestsWithout } from './published-rows.ts';
import { pointText, type Execution, type KillPoint } from './kill-point.ts';

/** A reconciliation that was not killed: what it executed, and what every other one has to come to. */
export type RehearsedErasure = { scene: ErasureScene; executions: Execution[]; outcome: Outcome };

const reconcile = ['reconcile'];

/** Reconciles a scene without a kill. Fails unless those who are to leave have left, and nobody else. */
export async function rehearseErasure(scene: ErasureScene): Promise<RehearsedErasure> {
  await using stage = await openStage(scene);
  const executions = await rehearseRun(stage.run, reconcile, join(stage.folder, 'executions.json'));
  expect(await residueOf(join(scene.base, 'data'), scene.subjects)).not.toEqual([]);
  await assertErased(stage, scene.subjects);
  const before = await digestsWithout(join(scene.base, 'data'), scene.leaving);
  expect(await digestsWithout(stage.dataDir, scene.leaving)).toEqual({ ...before, left: 0 });
  const outcome = await outcomeOf(stage.dataDir);
  expect(new Set(outcome.requests.map(({ state }) => state))).toEqual(new Set(['sealed']));
  expect(deletionsIn(stage)).toBe(scene.subjects.length);
  return { scene, executions, outcome };
}

/** What the reconciliation after a killed one executes. */
export async function executionsAfter(scene: ErasureScene, point: KillPoint): Promise<Execution[]> {
  await using stage = await openStage(scene);
  await killRun(stage.run, reconcile, point);
  // Awaited here: the stage goes with the end of this function.
  return await rehearseRun(stage.run, reconcile, join(stage.folder, 'executions.json'));
}

/**
 * Reconciles a scene and dies at each of the points, one time after the other, before a last run goes to the end. Fails
 * unless nothing was ever destroyed without an intent on the ledger, readers always found whole files, and in the end
 * everything is as if nothing had been. Returns the points that no run came to, since a killed one had done with them;
 * never the first.
 */
export async function assertErasesAfter(
  { scene, outcome }: RehearsedErasure,
  points: readonly KillPoint[],
): Promise<KillPoint[]> {
  await using stage = await openStage(scene);
  const before = join(scene.base, 'data');
  let kills = 0;
  try {
    let unknown = 0;
    for (const point of points) {
      const isDead = await diesAt(stage.run, reconcile, point);
      assertIntended(stage, before, scene.subjects);
      await assertReadable(stage.dataDir);
      unknown += unknownOutcomes(stage);
      if (!isDead) break;
      kills += 1;
    }
    expect(kills).toBeGreaterThan(0);
    await finish(stage, unknown);
    await assertErased(stage, scene.subjects);
    expect(await outcomeOf(stage.dataDir)).toEqual(outcome);
    const deletions = deletionsIn(stage);
    expect(deletions).toBeGreaterThanOrEqual(scene.subjects.length);
    expect(deletions).toBeLessThanOrEqual(scene.subjects.length + unknown);
  } catch (cause) {
    throw new Error(`killed ${points.map(pointText).join(', then ')}`, { cause });
  }
  return points.slice(kills);
}

/** Reconciles to the end; whose events are in doubt is approved, which only a deletion of unknown outcome may call for. */
async function finish(stage: Stage, unknown: number): Promise<void> {
  const ended = await stage.run(reconcile);
  if (unknown === 0 || ended.code === 0) {
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    return;
  }
  expect(ended).toMatchObject({ code: 4, stderr: '' });
  const doubted = reading(stage.dataDir, (db) =>
    listRequests(db, 'open').filter(({ state }) => state === 'attention'),
  );
  expect(doubted.map(({ reason }) => reason)).toEqual(doubted.map(() => 'events_unconfirmed'));
  expect(doubted.length).toBeLessThanOrEqual(unknown);
  const approved = await stage.run(['erase', 'approve', ...doubted.map(({ id }) => id)]);
  expect(approved).toMatchObject({ code: 0, stderr: '' });
  expect(await stage.run(reconcile)).toMatchObject({ code: 0, stderr: '' });
}

/** Requests of which nobody can know whether the service has taken the deletion. */
function unknownOutcomes({ dataDir }: Stage): number {
  return reading(
    dataDir,
    (db) =>
      listRequests(db, 'open').filter(({ id }) =>
        listTargets(db, id).some(
          ({ target, status }) => target === 'upstream.person' && status === 'intended',
        ),
      ).length,
  );
}

function deletionsIn({ sandbox }: Stage): number {
  return sandbox.requests().filter(({ endpoint }) => endpoint === 'persons.delete').length;
}
