import { join } from 'node:path';
import { expect } from 'vitest';
import { readLedger } from '../../src/ledger/ledger.ts';
import { listRequests } from '../../src/mirror/erasure-requests.ts';
import { listTargets } from '../../src/mirror/erasure-targets.ts';
import {
  assertErased,
  assertIntended,
  assertReadable,
  isMadeAnew,
  outcomeOf,
  residueOf,
  type Outcome,
} from './erasure-invariants.ts';
import { openErasureWorkspace, reading, type PreparedErasure } from './erasure-workspace.ts';
import type { Workspace } from './workspace.ts';
import { toldLostOnce } from './killed-command.ts';
import { killRun, recordRun, runUpTo } from '../kill/killed-run.ts';
import { digestsWithout } from './published-rows.ts';
import { pointText, type Execution, type KillPoint } from '../kill/kill-point.ts';

/** A reconciliation that was not killed: what it executed, and the outcome that every killed one has to reach too. */
export type ReferenceErasure = { prepared: PreparedErasure; executions: Execution[]; outcome: Outcome };

const reconcile = ['reconcile'];

/** Reconciles without a kill. Fails unless those who are to leave have left, and nobody else. */
export async function referenceErasure(prepared: PreparedErasure): Promise<ReferenceErasure> {
  await using workspace = await openErasureWorkspace(prepared);
  const executions = await recordRun(workspace.run, reconcile, join(workspace.folder, 'executions.json'));
  expect(await residueOf(join(prepared.base, 'data'), prepared.subjects)).not.toEqual([]);
  await assertErased(workspace, prepared.subjects);
  const before = await digestsWithout(join(prepared.base, 'data'), prepared.leaving);
  expect(await digestsWithout(workspace.dataDir, prepared.leaving)).toEqual({ ...before, left: 0 });
  const outcome = await outcomeOf(workspace.dataDir);
  expect(new Set(outcome.requests.map(({ state }) => state))).toEqual(new Set(['sealed']));
  expect(deletionsIn(workspace)).toBe(prepared.subjects.length);
  return { prepared, executions, outcome };
}

/** What the reconciliation after a killed one executes. */
export async function executionsAfter(prepared: PreparedErasure, point: KillPoint): Promise<Execution[]> {
  await using workspace = await openErasureWorkspace(prepared);
  await killRun(workspace.run, reconcile, point);
  // Awaited here: the workspace goes with the end of this function.
  return await recordRun(workspace.run, reconcile, join(workspace.folder, 'executions.json'));
}

/**
 * Reconciles and dies at each of the points, one time after the other, before a last run goes to the end. Fails
 * unless nothing was ever destroyed without an intent on the ledger, readers always found whole files, and in the end
 * everything is as if nothing had been. Returns the points that no run came to, since a killed one had done with them;
 * never the first.
 */
export async function assertErasesAfter(
  { prepared, outcome }: ReferenceErasure,
  points: readonly KillPoint[],
): Promise<KillPoint[]> {
  await using workspace = await openErasureWorkspace(prepared);
  const before = join(prepared.base, 'data');
  let kills = 0;
  try {
    let unknown = 0;
    for (const point of points) {
      const { isKilled } = await runUpTo(workspace.run, reconcile, point);
      assertIntended(workspace, before, prepared.subjects);
      await assertReadable(workspace.dataDir);
      unknown += unknownOutcomes(workspace);
      if (!isKilled) break;
      kills += 1;
    }
    expect(kills).toBeGreaterThan(0);
    await finish(workspace, unknown);
    await assertErased(workspace, prepared.subjects);
    const { requests, ...rest } = await outcomeOf(workspace.dataDir);
    expect({ ...rest, requests: requests.filter((request) => !isMadeAnew(request)) }).toEqual(outcome);
    const unasked = outcome.requests.filter(({ origin }) => origin === 'upstream');
    expect(requests.filter(isMadeAnew).length).toBeLessThanOrEqual(kills * unasked.length);
    const deletions = deletionsIn(workspace);
    expect(deletions).toBeGreaterThanOrEqual(prepared.subjects.length);
    expect(deletions).toBeLessThanOrEqual(prepared.subjects.length + unknown);
  } catch (cause) {
    throw new Error(`killed ${points.map(pointText).join(', then ')}`, { cause });
  }
  return points.slice(kills);
}

/** Reconciles to the end; whose events are in doubt is approved, which only a deletion of unknown outcome may call for. */
async function finish(workspace: Workspace, unknown: number): Promise<void> {
  const ended = await toldLostOnce((...args) => workspace.run(args));
  if (unknown === 0 || ended.code === 0) {
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    return;
  }
  expect(ended).toMatchObject({ code: 4, stderr: '' });
  const doubted = reading(workspace.dataDir, (db) =>
    listRequests(db, 'open').filter(({ state }) => state === 'attention'),
  );
  expect(doubted.map(({ reason }) => reason)).toEqual(doubted.map(() => 'events_unconfirmed'));
  expect(doubted.length).toBeLessThanOrEqual(unknown);
  const approved = await workspace.run(['erase', 'approve', ...doubted.map(({ id }) => id)]);
  expect(approved).toMatchObject({ code: 0, stderr: '' });
  expect(await workspace.run(reconcile)).toMatchObject({ code: 0, stderr: '' });
}

/** Requests of which nobody can know whether the service has taken the deletion: its intent may be on the ledger alone. */
function unknownOutcomes({ dataDir }: Workspace): number {
  const entries = [...readLedger(dataDir).entries()];
  const intended = new Set(
    entries.flatMap((entry) => (entry.type === 'intent' && entry.target === 'upstream.person' ? entry.requests : [])),
  );
  return reading(
    dataDir,
    (db) =>
      listRequests(db, 'open').filter(({ id }) =>
        listTargets(db, id).some(
          ({ target, status }) =>
            target === 'upstream.person' && (status === 'intended' || (status === 'pending' && intended.has(id))),
        ),
      ).length,
  );
}

function deletionsIn({ sandbox }: Workspace): number {
  return sandbox.requests().filter(({ endpoint }) => endpoint === 'persons.delete').length;
}
