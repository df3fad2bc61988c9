import { statSync } from 'node:fs';
import type { Settings } from '../config/settings.ts';
import { refuseRestored } from '../erasure/fence/restore-guard.ts';
import { presentHolder } from '../job/lease.ts';
import { refuseLostLedger } from '../job/lost-ledger.ts';
import { entriesPath, ledgerFolder } from '../ledger/entry-file.ts';
import { readLedger } from '../ledger/ledger.ts';
import type { Database } from '../mirror/database.ts';
import { refuseLostFenceKey } from '../mirror/fence.ts';
import { refuseOthersMirror } from '../mirror/runs.ts';

/** What is larger takes seconds to read; each job reads it. */
const ledgerBytesMax = 32 << 20;

/**
 * Throws `usage` for the mirror of another project, and `storage` where mirror, ledger and keys are not of one time, as each job does:
 * after a restore none may have run. While a run is under way they change one after the other, and it sees to that itself.
 */
export function refuseUnfitFolder(db: Database, settings: Settings): void {
  const { dataDir } = settings;
  refuseOthersMirror(db, settings);
  const { size } = statSync(entriesPath(ledgerFolder(dataDir)), { throwIfNoEntry: false }) ?? { size: 0 };
  if (presentHolder(db) || size > ledgerBytesMax) return;
  try {
    const ledger = readLedger(dataDir);
    refuseLostLedger(dataDir, ledger);
    refuseLostFenceKey(db, dataDir);
    refuseRestored(db, ledger);
  } catch (error) {
    if (!presentHolder(db)) throw error;
  }
}
