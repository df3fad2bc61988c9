import { setImmediate } from 'node:timers/promises';
import { isoTime, type Clock } from '../../core/clock.ts';
import { collectHistories, type Histories } from '../../ledger/histories.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { requestsOf, type LedgerRecord } from '../../ledger/record.ts';
import type { RequestHistory } from '../../ledger/request-history.ts';
import type { Database } from '../../mirror/database.ts';
import { noteTakenEntries } from '../../mirror/erasure-requests.ts';
import { transact } from '../../mirror/transact.ts';
import { applyEntry, catchUp, type Source } from '../projection.ts';

/** What a step of requests needs of a job's context. `append` writes durably, or throws and has written nothing. */
export type StepContext = { db: Database; clock: Clock; ledger: () => Pick<Ledger, 'append'> & Source };

/** The ledgers of steps that are being taken. */
const steps = new WeakSet<object>();

/**
 * Takes a step of one or of many requests. What `act` appends to the ledger changes the mirror's tables at once, and is one append;
 * all that changes in the mirror is one transaction, which ends after the append. So the ledger is first, and the disk is flushed
 * once for each of the two. When anything throws, nothing is done. `act` has no effect elsewhere. A step in a step is a part of it.
 */
export function together<C extends StepContext, T>(context: C, act: (context: C) => T): T {
  const { db, clock } = context;
  const ledger = context.ledger();
  if (steps.has(ledger)) return act(context);
  return transact(db, () => {
    catchUp(db, ledger);
    const at = isoTime(clock.now());
    const records: LedgerRecord[] = [];
    const histories = stageHistories(ledger.histories);
    const append = (more: Iterable<LedgerRecord>): void => {
      for (const record of more) {
        const entry = { ...record, seq: ledger.requestEntries() + records.length, at };
        records.push(record);
        histories.take(entry);
        applyEntry(db, entry, histories);
      }
    };
    const step = { ...ledger, append, histories: { ...ledger.histories, of: histories.of } };
    steps.add(step);
    const result = act({ ...context, ledger: () => step });
    if (records.length === 0) return result;
    ledger.append(records, at);
    noteTakenEntries(db, ledger);
    return result;
  });
}

/** The histories as they will be once more entries are on the ledger. The histories before stay as they are. */
function stageHistories(before: Pick<Histories, 'of'>): Pick<Histories, 'take' | 'of'> {
  const staged = new Map<string, RequestHistory>();
  const histories = collectHistories(staged);
  return {
    take: (entry) => {
      for (const id of requestsOf(entry)) {
        const known = staged.has(id) ? undefined : before.of(id);
        if (known) staged.set(id, structuredClone(known));
      }
      histories.take(entry);
    },
    of: (request) => staged.get(request) ?? before.of(request),
  };
}

/** Appends records to the ledger, and changes the mirror's tables as they say: a step by itself, or a part of the one that is taken. */
export function record(context: StepContext, ...records: readonly LedgerRecord[]): void {
  together(context, (own) => own.ledger().append(records));
}

/** So many requests take a part of a second: one takes some milliseconds at most. */
const atOnce = 250;

/**
 * Takes a step of each of many requests, some hundred together. Other work goes on between them, and an abort is heard: what
 * is done by then stays done, and the signal's reason is thrown.
 */
export async function eachTogether<C extends StepContext & { signal: AbortSignal }, I, T>(
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
