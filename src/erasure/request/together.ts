import { setImmediate } from 'node:timers/promises';
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

/** So many requests take a part of a second: one takes some milliseconds at most. */
const atOnce = 250;

/**
 * Takes a step of each of many requests, some hundred together. Other work goes on between them, and an abort is heard: what
 * is done by then stays done, and the signal's reason is thrown.
 */
export async function eachTogether<C extends Parameters<typeof together>[0] & { signal: AbortSignal }, I, T>(
  context: C,
  items: readonly I[],
  act: (context: C, item: I, index: number) => T,
): Promise<T[]> {
  const results: T[] = [];
  for (let first = 0; first < items.length; first += atOnce) {
    const part = items.slice(first, first + atOnce);
    results.push(...together(context, (own) => part.map((item, index) => act(own, item, first + index))));
    await setImmediate();
    context.signal.throwIfAborted();
  }
  return results;
}
