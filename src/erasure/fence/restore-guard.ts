import { AppError } from '../../core/errors.ts';
import { readLedger, type LedgerReader } from '../../ledger/ledger.ts';
import type { Database } from '../../mirror/database.ts';
import { readEpoch } from '../../mirror/fence.ts';

/**
 * Refuses to go on with a mirror that knows of fewer erasures than the ledger: an older copy of it, which may hold people
 * who were erased since. Throws `storage` then, and also for a ledger that knows of fewer than the mirror.
 */
export function refuseRestored(
  db: Database,
  dataDir: string,
  ledger: LedgerReader = readLedger(dataDir),
): void {
  const mirrored = readEpoch(db);
  const recorded = ledger.epoch();
  if (mirrored < recorded)
    throw new AppError(
      `mirror.db is an older copy: it knows of ${mirrored} rounds of erasures, the ledger of ${recorded}`,
      {
        code: 'storage',
        hint: 'run `analytics-mirror reconcile` first: it erases again whomever the copy has brought back',
      },
    );
  refuseOlderLedger(mirrored, ledger);
}

/** Throws `storage` for a ledger that knows of fewer erasures than the mirror. */
export function refuseOlderLedger(mirrored: number, ledger: LedgerReader): void {
  const recorded = ledger.epoch();
  if (mirrored <= recorded || (mirrored === recorded + 1 && isBegun(ledger, mirrored))) return;
  throw new AppError(
    `the ledger is older than mirror.db: it knows of ${recorded} rounds of erasures, the mirror of ${mirrored}`,
    { code: 'storage', hint: 'restore ledger/ from the same backup as mirror.db, or from a newer one' },
  );
}

/** Whether the ledger knows that an epoch was begun: a kill came before its word that the fence stands. */
function isBegun(ledger: LedgerReader, epoch: number): boolean {
  for (const entry of ledger.entries()) if (entry.type === 'fencing' && entry.epoch === epoch) return true;
  return false;
}
