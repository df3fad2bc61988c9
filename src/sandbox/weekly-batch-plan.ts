import { nextBatchAfter } from '../contract/weekly-batch.ts';

/** A queued deletion of events. `requestedAtMs` is on the service's clock. */
export type QueuedTask = { id: number; requestedAtMs: number };
/** One batch that has to run, and the tasks it takes. `atMs` is a Sunday, 05:00 UTC. */
export type WeeklyBatch = { atMs: number; taskIds: number[] };

/**
 * The batches that are due at `nowMs`, oldest first: a task belongs to the first Sunday 05:00 UTC after its request
 * (sections 3 and 8). Sundays without a task make no batch, so a long jump of the clock costs nothing.
 */
export function planWeeklyBatches(tasks: readonly QueuedTask[], nowMs: number): WeeklyBatch[] {
  return [...Map.groupBy(tasks, ({ requestedAtMs }) => nextBatchAfter(requestedAtMs))]
    .filter(([atMs]) => atMs <= nowMs)
    .map(([atMs, due]) => ({ atMs, taskIds: due.map(({ id }) => id) }))
    .toSorted((a, b) => a.atMs - b.atMs);
}
