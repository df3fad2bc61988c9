import type { JobContext } from '../../job/job-context.ts';
import { readEpoch } from '../../mirror/fence.ts';
import type { Found } from '../fence/restore.ts';
import { refuseOlderLedger } from '../fence/restore-guard.ts';
import { bindKeys, differenceError, findDifferences, recordDifferences, recoverPublications } from './differences.ts';
import { raiseFencesAgain } from './raise-fences.ts';
import { findFencedInFiles } from './find-in-files.ts';

/**
 * What is not as the ledger says, recorded on it, and the erased persons in published files that differ from it. A folder of
 * an earlier version is searched whole, once. Throws `storage` for what the program cannot mend: another key, or requests
 * that the ledger does not have.
 */
export async function findUnbound(context: JobContext): Promise<Found> {
  const { db, published, settings } = context;
  const ledger = context.ledger();
  if (ledger.size() === 0) return { differences: [], inFiles: [] };
  refuseOlderLedger(readEpoch(db), ledger);
  bindKeys(context);
  recoverPublications(context);
  const differences = findDifferences({ db, published, dataDir: settings.dataDir, ledger });
  recordDifferences(context, differences);
  const beyond = differences.filter(
    ({ part, id }) => part === 'fence_key' || part === 'box_key' || (part === 'requests' && !ledger.histories.of(id)),
  );
  if (beyond.length > 0) throw differenceError(beyond);
  const isFirst = !ledger.bound.publications.isBegun();
  // Before the search, which looks for those who are fenced.
  if (readEpoch(db) < ledger.epoch() || ledger.bound.differing.has('fence'))
    db.transaction(() => raiseFencesAgain(db, ledger)).immediate();
  const differing = new Set(differences.flatMap(({ part, id }) => (part === 'snapshots' ? [id] : [])));
  const isSearched = ledger.bound.fences.size > 0 && (differing.size > 0 || isFirst);
  const inFiles = isSearched ? await findFencedInFiles(context, (id) => isFirst || differing.has(id)) : [];
  return { differences, inFiles };
}
