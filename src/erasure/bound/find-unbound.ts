import { macCipher, readKey } from '../../core/secret-key.ts';
import type { JobContext } from '../../job/job-context.ts';
import type { LedgerReader } from '../../ledger/ledger.ts';
import type { Database } from '../../mirror/database.ts';
import {
  addFence,
  findFencedIdentifiers,
  liftFence,
  readEpoch,
  type FencedIdentifier,
  type FenceEntry,
  prepareFindFenced,
} from '../../mirror/fence.ts';
import { restoreKeyName } from '../../mirror/restore-key.ts';
import { removeDamaged } from '../../snapshot/publish.ts';
import { bringUp } from '../fence/restore-guard.ts';
import { differingFences, type Difference } from './differences.ts';
import { bindKeys, differenceError, compareWithLedger } from './compare.ts';
import { readSightings } from '../../snapshot/subject-rows.ts';
import { identifiersOf } from '../find/closure.ts';
import { transact } from '../../mirror/transact.ts';

/** What was found not to be as the ledger says, and the erased persons that were found in the mirror and in published files. */
export type Found = {
  differences: readonly Difference[];
  inMirror: readonly FencedIdentifier[];
  inFiles: readonly FencedIdentifier[];
};

/**
 * Finds what is not as the ledger says, and the erased persons in published files that differ from it. The suppression list
 * is made as the ledger has it before, and damaged snapshots, which nothing can be searched in, are deleted. Where the list
 * differed, every identifier of the mirror is compared with it. A folder whose ledger has recorded no publication yet is searched
 * whole, once. Throws `storage` for what the program cannot mend.
 */
export async function findUnbound(context: JobContext): Promise<Found> {
  const { db, published, signal } = context;
  const { dataDir } = context.settings;
  const ledger = context.ledger();
  bringUp(context);
  if (ledger.size() === 0) return { differences: [], inMirror: [], inFiles: [] };
  bindKeys(context);
  const differences = await compareWithLedger(context);
  const beyond = differences.filter(({ remedy }) => remedy !== undefined);
  if (beyond.length > 0) throw differenceError(beyond);
  let inMirror: FencedIdentifier[] = [];
  if (isFenceBehind(db, ledger)) {
    const differing = await differingFences(db, ledger, dataDir);
    const forSearch = transact(db, () => raiseFencesAgain(db, ledger, dataDir, differing));
    inMirror = await findFencedIdentifiers(db, signal);
    // A kill before this leaves entries that the ledger does not have: the next run begins with them.
    transact(db, () => forSearch.forEach((id) => liftFence(db, id)));
  }
  const isFirst = !ledger.bound.publications.isBegun();
  const snapshots = differences.filter(({ part }) => part === 'snapshots');
  removeDamaged(
    published,
    snapshots.flatMap(({ id, isDamaged }) => {
      const [dataset = '', snapshotId = ''] = id.split('/');
      return isDamaged ? [{ dataset, snapshotId }] : [];
    }),
  );
  const wanted = new Set(snapshots.map(({ id }) => id));
  const isSearched = ledger.bound.fences.size > 0 && (isFirst || wanted.size > 0);
  const inFiles = isSearched ? await findFencedInFiles(context, (id) => isFirst || wanted.has(id)) : [];
  return { differences, inMirror, inFiles };
}

/** Whether the suppression list was not as the ledger has it; also where a kill came after it was mended. */
export function isFenceBehind(db: Database, ledger: LedgerReader): boolean {
  return readEpoch(db) < ledger.epoch() || ledger.bound.differing.has('fence');
}

/** A fence that stands, as the ledger has it. */
type StandingFence = { id: string; epoch: number; at: string; servedAt: string | null; entries: FenceEntry[] };

/**
 * Makes the fence as the ledger has it. What was begun and may stand stays. The ledger is read: it keeps no MACs in memory. Fences
 * that rose after the mirror was copied, and were lifted by a readmission since, are raised beside it: the copy has the rows that were
 * erased then. Returns their requests: they are to be lifted once the mirror is searched. A copy that is of after such a fence has
 * only what the service has shown since.
 */
function raiseFencesAgain(db: Database, ledger: LedgerReader, dataDir: string, differing: readonly string[]): string[] {
  const { fences } = ledger.bound;
  const copied = readEpoch(db);
  const key = readKey(dataDir, restoreKeyName);
  const decrypt = key && macCipher(key, 'decrypt');
  const begun = new Map<string, StandingFence>();
  const standing = new Map<string, StandingFence>();
  const lifted: StandingFence[] = [];
  for (const entry of ledger.entries()) {
    if (entry.type === 'fencing') {
      const { request: id, epoch, at, continued, served_at: servedAt = null } = entry;
      const before = continued ? begun.get(id) : undefined;
      const fence = decrypt ? entry.fence.map(({ kind, encrypted }) => ({ kind, mac: decrypt(encrypted) })) : [];
      if (before) before.entries.push(...fence);
      else begun.set(id, { id, epoch, at, servedAt, entries: fence });
    }
    const fence = entry.type === 'fenced' ? begun.get(entry.request) : undefined;
    if (fence) standing.set(fence.id, fence);
    if (fence && fence.epoch > copied && !fences.has(fence.id)) lifted.push(fence);
  }
  for (const id of differing) {
    liftFence(db, id);
    const fence = fences.has(id) ? standing.get(id) : undefined;
    if (fence) addFence(db, fence, fence.entries);
  }
  for (const fence of lifted) addFence(db, fence, fence.entries);
  return lifted.map(({ id }) => id);
}

/**
 * Holds every identifier in published snapshots against the suppression list, by MAC. `isWanted`: by dataset and snapshot id.
 * Finds nobody unless older files were put back. Throws `storage` when a part cannot be read, since it could hold anybody.
 */
export async function findFencedInFiles(
  { db, published, signal }: Pick<JobContext, 'db' | 'published' | 'signal'>,
  isWanted: (snapshot: string) => boolean = () => true,
): Promise<FencedIdentifier[]> {
  const findFenced = prepareFindFenced(db);
  const found = new Map<string, FencedIdentifier>();
  for await (const sightings of readSightings(published, isWanted, signal))
    for (const each of sightings.flatMap((row) => findFenced(identifiersOf(row))))
      found.set(`${each.kind} ${each.value} ${each.requestId}`, each);
  return [...found.values()];
}
