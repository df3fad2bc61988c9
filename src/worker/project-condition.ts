import { existsSync, statfsSync } from 'node:fs';
import type { Settings } from '../config/settings.ts';
import { isoTime, type Clock } from '../core/clock.ts';
import { isWritable } from '../core/folder.ts';
import { entriesPath, ledgerFolder } from '../ledger/entry-file.ts';
import type { Database } from '../mirror/database.ts';
import { countRequests, listRequests } from '../mirror/erasure-requests.ts';
import { listHeldPlans } from '../mirror/suspects.ts';
import type { ProjectCondition } from '../job/worker-state.ts';

/** Reads what a data folder says about itself. Throws the system's error when it cannot be looked at. */
export function readProjectCondition(db: Database, settings: Settings, clock: Clock): ProjectCondition {
  const { held = 0, attention = 0 } = countRequests(db);
  const now = isoTime(clock.now());
  const { bavail, bsize } = statfsSync(settings.dataDir);
  return {
    heldPlans: listHeldPlans(db).length,
    heldRequests: held,
    attentionRequests: attention,
    overdueRequests: listRequests(db, 'open').filter(
      ({ certifiedAt, dueAt }) => certifiedAt === null && dueAt < now,
    ).length,
    diskFreeBytes: bavail * bsize,
    diskFreeBytesMin: settings.alerts.diskFreeBytesMin,
    isLedgerWritable: isLedgerWritable(settings.dataDir),
  };
}

/** Whether the ledger can grow: its folder may be written, or made where there is none yet. */
function isLedgerWritable(dataDir: string): boolean {
  const folder = ledgerFolder(dataDir);
  const path = [entriesPath(folder), folder].find((place) => existsSync(place)) ?? dataDir;
  return isWritable(path);
}
