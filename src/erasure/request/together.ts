import type { Database } from '../../mirror/database.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { LedgerRecord } from '../../ledger/record.ts';

/**
 * Takes a step of many requests at once: what `act` records is one append to the ledger, and what it changes in the mirror
 * is one transaction, which ends after the append. So the ledger is first, as in a single step, and the disk is flushed once
 * for each of the two. When anything throws, nothing is done. `act` has no effect elsewhere.
 */
export function together<C extends { db: Database; ledger: () => Pick<Ledger, 'append'> }, T>(
  context: C,
  act: (context: C) => T,
): T {
  const records: LedgerRecord[] = [];
  const ledger = { ...context.ledger(), append: (more: Iterable<LedgerRecord>) => void records.push(...more) };
  return context.db
    .transaction(() => {
      const result = act({ ...context, ledger: () => ledger });
      context.ledger().append(records);
      return result;
    })
    .immediate();
}
