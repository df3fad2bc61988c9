import { AppError } from '../core/errors.ts';
import { readLedger } from '../ledger/ledger.ts';
import type { Database } from '../mirror/database.ts';
import { readEpoch } from '../mirror/erasure-epoch.ts';

/**
 * Refuses to go on with a mirror that knows of fewer erasures than the ledger: an older copy of it, which may hold people
 * who were erased since. Throws `storage` then, and also for a ledger that knows of fewer than the mirror.
 */
export function refuseRestored(db: Database, dataDir: string): void {
  const mirrored = readEpoch(db);
  const recorded = readLedger(dataDir).epoch();
  if (mirrored < recorded)
    throw new AppError(
      `mirror.db is an older copy: it knows of ${mirrored} rounds of erasures, the ledger of ${recorded}`,
      {
        code: 'storage',
        hint: 'run `analytics-mirror reconcile` first: it erases again whomever the copy has brought back',
      },
    );
  refuseOlderLedger(mirrored, recorded);
}

/** Throws `storage` for a ledger that knows of fewer erasures than the mirror. */
export function refuseOlderLedger(mirrored: number, recorded: number): void {
  // One ahead is a kill between fencing and the ledger's word of it, which the next reconciliation makes good.
  if (mirrored > recorded + 1)
    throw new AppError(
      `the ledger is older than mirror.db: it knows of ${recorded} rounds of erasures, the mirror of ${mirrored}`,
      { code: 'storage', hint: 'restore ledger/ from the same backup as mirror.db, or from a newer one' },
    );
}
