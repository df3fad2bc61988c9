const dayMs = 86_400_000;
const weekMs = 7 * dayMs;
// 1970-01-01 was a Thursday, so the first Sunday 05:00 UTC of the epoch is three days and five hours in.
const firstBatchMs = 3 * dayMs + 5 * 3_600_000;

/**
 * When the service's next batch of queued deletions starts: the first Sunday 05:00 UTC after a time, that time itself
 * excluded (sections 3 and 8). All in milliseconds since 1970.
 */
export function nextBatchAfter(timeMs: number): number {
  return firstBatchMs + (Math.floor((timeMs - firstBatchMs) / weekMs) + 1) * weekMs;
}
