import { AppError } from './errors.ts';

/**
 * Does something with each item, a batch of `atOnce` items at a time, and yields the results of each batch in the
 * order of the items. If items fail, the rest of their batch ends first. Then a `refused` error is thrown, or else
 * the first error. Before each batch, throws the reason of an aborted signal.
 */
export async function* resultsByBatch<T, R>(
  items: readonly T[],
  { atOnce, signal }: { atOnce: number; signal?: AbortSignal | undefined },
  act: (item: T) => Promise<R>,
): AsyncGenerator<R[]> {
  for (let first = 0; first < items.length; first += atOnce) {
    signal?.throwIfAborted();
    const settled = await Promise.allSettled(items.slice(first, first + atOnce).map(act));
    const errors = settled.flatMap((each): unknown[] => (each.status === 'rejected' ? [each.reason] : []));
    const isRefusal = (error: unknown): boolean =>
      error instanceof AppError && (error.code === 'refused' || error.code === 'quota');
    if (errors.length > 0) throw errors.find(isRefusal) ?? errors[0];
    yield settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  }
}

/**
 * The items, beginning at another one for another `turn`, such as a time. Where a job ends after some failures, what fails is not always
 * before the same others.
 */
export function turned<T>(items: readonly T[], turn: number): T[] {
  const first = turn % Math.max(1, items.length);
  return [...items.slice(first), ...items.slice(0, first)];
}

/** Does something with each item as `resultsByBatch` does, and resolves to all results. */
export async function inBatches<T, R>(...args: Parameters<typeof resultsByBatch<T, R>>): Promise<R[]> {
  const results: R[] = [];
  for await (const batch of resultsByBatch(...args)) results.push(...batch);
  return results;
}
