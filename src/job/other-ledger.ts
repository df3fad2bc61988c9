import { AppError } from '../core/errors.ts';
import type { LedgerReader } from '../ledger/ledger.ts';
import type { Database } from '../mirror/database.ts';
import { readTakenEntries } from '../mirror/erasure-requests.ts';

/**
 * Refuses a ledger that does not begin with the entries that the mirror's tables were made of: it is older, or somebody has written it anew
 * and removed its checkpoints, and the program's own key would sign that. Throws `storage`.
 */
export function refuseOtherLedger(db: Database, ledger: Pick<LedgerReader, 'requestEntries' | 'rootOfFirst'>): void {
  const taken = readTakenEntries(db);
  if (!taken) return;
  const missing = taken.entries - ledger.requestEntries();
  if (missing > 0)
    throw new AppError(`the ledger is older than mirror.db: it ends ${missing} entries before it`, {
      code: 'storage',
      hint: 'restore ledger/ from the same backup as mirror.db, or from a newer one',
    });
  if (ledger.rootOfFirst(taken.entries) !== taken.root)
    throw new AppError(
      `the ledger was changed: its first ${taken.entries} entries are not those that mirror.db was made of`,
      {
        code: 'storage',
        hint: 'restore ledger/ from a backup, and find out who can write there: nothing of it was signed',
      },
    );
}
