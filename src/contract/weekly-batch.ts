const dayMs = 86_400_000;
const weekMs = 7 * dayMs;
// 1970-01-01 was a Thursday, so the first Sunday 05:00 UTC of the epoch is three days and five hours in.
const firstBatchMs = 3 * dayMs + 5 * 3_600_000;

/** The service's next batch of deletions: the first Sunday 05:00 UTC after a time (sections 3 and 8), in ms. */
export function nextBatchAfter(timeMs: number): number {
  return firstBatchMs + (Math.floor((timeMs - firstBatchMs) / weekMs) + 1) * weekMs;
}
