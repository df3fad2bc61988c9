import { expect } from 'vitest';
import { AppError } from '../../../src/core/errors.ts';
import { approveRequest } from '../../../src/erasure/receive.ts';
import { readLedger } from '../../../src/ledger/ledger.ts';
import { listRequests } from '../../../src/mirror/erasure-requests.ts';
import type { ErasureWorld } from '../erasure-world.ts';
import { differencesOf, keepCopy, openBoundWorld, placesOf, problemsOf, type Bindable } from './bound-world.ts';

/** The steps of the story; after each, the data folder can be copied, and parts of an older copy can be put back. */
export const story = ['sync', 'export', 'erase anna-canary', 'export a delta', 'erase bert-canary', 'seal'] as const;

/** Every choice of parts of a data folder, but none. */
export const choices: Bindable[][] = [];
for (let bits = 1; bits < 16; bits += 1)
  choices.push((['folder', 'database', 'keys', 'ledger'] as const).filter((_part, index) => (bits >> index) % 2 === 1));

/** Plays the story up to step `until`, with a copy from after step `copied`, and puts `parts` of the copy back. */
export async function playOlderParts(
  copied: number,
  until: number,
  parts: readonly Bindable[],
): Promise<'refused' | 'mended' | 'not to be told'> {
  const { world, uuids } = await openBoundWorld();
  const erased: string[] = [];
  let putBack: ((parts: readonly Bindable[]) => void) | undefined;
  let before = { entries: 0, erased: 0 };
  for (const [index, step] of story.slice(0, until + 1).entries()) {
    const [verb, who = ''] = step.split(' ');
    if (verb === 'sync') await world.sync();
    else if (verb === 'export') await world.publish();
    else if (verb === 'erase') {
      await world.request([{ kind: 'uuid', value: uuids[who] ?? '' }]);
      await world.reconcile();
      erased.push(who);
    } else {
      world.pass(9);
      await world.reconcile();
    }
    if (index !== copied) continue;
    putBack = keepCopy(world);
    before = { entries: readLedger(world.dataDir).size(), erased: erased.length };
  }
  // An older ledger is told by a mirror that knows of later erasures; otherwise only by what was kept elsewhere.
  const isLedgerOlder = parts.includes('ledger') && readLedger(world.dataDir).size() > before.entries;
  const isUntold = isLedgerOlder && (parts.includes('database') || erased.length === before.erased);
  // They live at the service again: only the suppression list keeps them out.
  for (const name of erased) world.create([name], { email: `${name}@x.example` });
  try {
    putBack?.(parts);
  } catch (error) {
    // The mirror does not even open.
    expect(error).toBeInstanceOf(AppError);
    return 'refused';
  }
  await expectToldOrGone(world, erased, isUntold);
  for (const job of [world.sync, world.publish, world.reconcile, world.sync, world.publish]) {
    await job().catch((error: unknown) => expect(error).toBeInstanceOf(AppError));
    await expectToldOrGone(world, erased, isUntold);
  }
  if (isUntold) return 'not to be told';
  await endReopened(world);
  return (await toldBy(world)).length > 0 ? 'refused' : 'mended';
}

/**
 * A certificate is superseded until the request that was opened again has come to its end. An operator has to say of those who live
 * at the service again that they are others.
 */
async function endReopened(world: ErasureWorld): Promise<void> {
  const waiting = listRequests(world.db(), 'open').filter(({ reason }) => reason === 'distinct_id_elsewhere');
  await world
    .erase((job) => waiting.forEach(({ id }) => approveRequest(job, id)))
    .catch((error: unknown) => expect(error).toBeInstanceOf(AppError));
  world.pass(9);
  await world.reconcile().catch((error: unknown) => expect(error).toBeInstanceOf(AppError));
}

/** Nobody erased is in mirror or files, or a check says that something is wrong. */
async function expectToldOrGone(world: ErasureWorld, erased: readonly string[], isUntold: boolean): Promise<void> {
  if (isUntold) return;
  const left: string[] = [];
  for (const name of erased) left.push(...(await placesOf(world, `${name}-device`)));
  if (left.length === 0) return;
  expect(await toldBy(world)).not.toEqual([]);
}

async function toldBy(world: ErasureWorld): Promise<string[]> {
  try {
    return [...(await differencesOf(world)), ...(await problemsOf(world))];
  } catch (error) {
    expect(error).toBeInstanceOf(AppError);
    return ['refused'];
  }
}
