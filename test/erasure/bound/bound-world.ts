import { cpSync, existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifyDataFolder } from '../../../src/audit/verify-data-folder.ts';
import { findDifferences } from '../../../src/erasure/bound/differences.ts';
import { readLedger } from '../../../src/ledger/ledger.ts';
import { publishedFilesIn } from '../../../src/snapshot/published-files.ts';
import { copyFolder } from '../../cli/copy-folder.ts';
import { freshFolder } from '../../mirror/open-test-mirror.ts';
import { openErasureWorld, type ErasureWorld, type Setting } from '../erasure-world.ts';
import { findTexts } from '../find-texts.ts';

/** What of a data folder can be put back by itself. */
const bindable = {
  folder: ['snapshots'],
  database: ['mirror.db', 'mirror.db-wal', 'mirror.db-shm'],
  keys: ['keys'],
  ledger: ['ledger'],
  reports: ['reports'],
} as const;
export type Bindable = keyof typeof bindable;

/** A world with two persons whom mirror and files know, each by a text that nothing else holds. */
export async function openBoundWorld(
  more: Setting[] = [],
): Promise<{ world: ErasureWorld; uuids: Record<string, string> }> {
  const world = await openErasureWorld(5, more);
  const uuids: Record<string, string> = {};
  for (const name of ['anna-canary', 'bert-canary']) {
    uuids[name] = world.create([name, `${name}-device`], { email: `${name}@x.example` });
  }
  return { world, uuids };
}

/** A world in which Anna was erased, with a copy of the folder from before: `older` are its snapshots. */
export async function worldAfterErasure() {
  const { world, uuids } = await openBoundWorld();
  await world.syncAndPublish();
  const older = join(freshFolder(), 'snapshots');
  cpSync(join(world.dataDir, 'snapshots'), older, { recursive: true });
  const putBack = keepCopy(world);
  await world.request([{ kind: 'uuid', value: uuids['anna-canary'] ?? '' }]);
  await world.reconcile();
  expect(await placesOf(world, 'anna-canary')).toEqual([]);
  expect(await differencesOf(world)).toEqual([]);
  expect(await problemsOf(world)).toEqual([]);
  return { world, uuids, older, putBack };
}

/** Copies the data folder aside; the function that it returns puts parts of the copy back. */
export function keepCopy(world: ErasureWorld): (parts: readonly Bindable[]) => void {
  const copy = join(freshFolder(), 'copy');
  world.db().pragma('wal_checkpoint(TRUNCATE)');
  copyFolder(world.dataDir, copy);
  return (parts) => {
    world.db().close();
    for (const name of parts.flatMap((part) => bindable[part])) {
      rmSync(join(world.dataDir, name), { recursive: true, force: true });
      const from = join(copy, name);
      if (existsSync(from)) (statSync(from).isDirectory() ? copyFolder : cpSync)(from, join(world.dataDir, name));
    }
    world.reopen();
  };
}

/** What is not as the ledger says. */
export async function differencesOf({ dataDir, db }: ErasureWorld): Promise<string[]> {
  const parts = { db: db(), dataDir, published: publishedFilesIn(dataDir), ledger: readLedger(dataDir) };
  return (await findDifferences(parts)).map(({ sentence }) => sentence);
}

/** What `audit verify` says. */
export async function problemsOf({ dataDir }: ErasureWorld): Promise<string[]> {
  return (await verifyDataFolder(dataDir, {}, new AbortController().signal)).problems;
}

/** Where a text stands in the data folder. */
export async function placesOf({ dataDir }: ErasureWorld, text: string): Promise<string[]> {
  return (await findTexts(dataDir, [text])).get(text) ?? [];
}
