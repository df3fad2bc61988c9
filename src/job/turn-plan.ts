import type { Waiter } from '../mirror/lease-rows.ts';

/** The jobs that a pass leaves the data folder to between two pages. Each waits for its turn for a bounded time. */
const guestJobs: ReadonlySet<string> = new Set(['erase', 'intake', 'reconcile', 'export', 'delta', 'load']);

/** Whether a pass leaves the data folder to a job. */
export function isGuest(job: string): boolean {
  return guestJobs.has(job);
}

/**
 * Whether a run gives way to a waiter. A reconciliation does not to a second one, which would begin the same again; a pass does also to
 * one that has given way to others.
 */
export function isGuestOf(job: string, waiter: Pick<Waiter, 'job' | 'hasBegun'>): boolean {
  return isGuest(waiter.job) && waiter.job !== job && (!waiter.hasBegun || !isGuest(job));
}

/**
 * Whoever has its turn before a run, of those that wait, in the order of coming. Guests and passes that have given way stand in one line, so
 * that a pass takes a page between two guests who come after it. All others stand behind that line: a second pass would
 * begin the list of the first one again, and so would a second reconciliation.
 */
export function whoIsAhead(
  { holder, job }: Pick<Waiter, 'holder' | 'job'>,
  queue: readonly Waiter[],
): Waiter | undefined {
  const begun = queue.flatMap((waiter) => (waiter.hasBegun ? waiter.job : []));
  const isInLine = (waiter: Pick<Waiter, 'job' | 'hasBegun'>): boolean =>
    waiter.hasBegun || (isGuest(waiter.job) && !begun.includes(waiter.job));
  const place = queue.findIndex((waiter) => waiter.holder === holder);
  const before = place === -1 ? queue : queue.slice(0, place);
  if (isInLine(queue[place] ?? { job, hasBegun: false })) return before.find(isInLine);
  return queue.find(isInLine) ?? before[0];
}
