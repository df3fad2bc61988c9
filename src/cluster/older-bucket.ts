import { openBucket, type Bucket } from '../bucket/bucket.ts';
import { AppError } from '../core/errors.ts';
import { readLedger } from '../ledger/ledger.ts';
import { hasAppend, keysFile, type StateEntries, type StatePlace } from './entry-store.ts';
import { localCopyOf, noteLocalCopy, readLocalCopy } from './local-copy.ts';

/**
 * Refuses a state that was put back to a time before the last commit, or lost: what has happened since would be undone. Entries that stand
 * behind it do not make up for it: they name nobody.
 */
export function refuseOlder(
  { place, ledgerSize }: Pick<StatePlace, 'place'> & { ledgerSize: number },
  size: number,
): void {
  if (size >= ledgerSize) return;
  throw new AppError(
    `the bucket is older than what the database of the cluster knows: the state below ${place.location} has ${size} entries of the ledger, and had ${ledgerSize}`,
    { code: 'storage', hint: 'restore what was newest there; docs/cluster.md says what to do where that is lost' },
  );
}

/**
 * Whether the bucket was put back to an older time, and nobody has taken the project over since: this copy has all that the bucket has of
 * the ledger, and is put over what stands there.
 */
export async function isOlderBucket(
  { dataDir }: Pick<StatePlace, 'dataDir'>,
  { bucket, store }: { bucket: Bucket; store: StateEntries },
  standing: string,
): Promise<boolean> {
  const note = localCopyOf(dataDir);
  const ledger = readLedger(dataDir);
  if (ledger.holders().at(-1)?.copy !== note.copy || !store.isPartOf(ledger)) return false;
  const keys = await bucket.describe(keysFile);
  const overKeys = keys ? { digest: '', id: keys.publisher ?? '' } : null;
  noteLocalCopy(dataDir, { ...note, commits: [...note.commits, standing], keys: overKeys });
  return true;
}

/**
 * Refuses to delete a copy for a bucket that was put back to an older time: who has taken the project over has gone on behind all entries
 * of this copy.
 */
export async function refuseForgetful(
  { place, key, dataDir }: Pick<StatePlace, 'place' | 'key' | 'dataDir'>,
  tools: Parameters<typeof openBucket>[1],
): Promise<void> {
  const note = readLocalCopy(dataDir);
  const ledger = readLedger(dataDir);
  if (!note?.isWhole || ledger.holders().at(-1)?.copy !== note.copy) return;
  using bucket = await openBucket(place, tools);
  const behind = { size: () => ledger.size(), rootHash: () => Buffer.from(ledger.head().rootHash, 'hex') };
  if (await hasAppend(bucket, { place, key, dataDir }, behind)) return;
  throw new AppError('the bucket knows less of the project than the copy of this machine', {
    code: 'storage',
    hint: `restore what is below cluster.storage; or delete the data folder ${dataDir}, which loses what only it has`,
  });
}
