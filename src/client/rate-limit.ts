/** At most `requests` in any span of `perSeconds` seconds. */
export type RateWindow = { requests: number; perSeconds: number };

/**
 * How many milliseconds from now the next request must wait so that no window is exceeded. `times` are the starts
 * of earlier requests in milliseconds, oldest first.
 */
export function waitMsUntilFree(
  times: readonly number[],
  windows: readonly RateWindow[],
  nowMs: number,
): number {
  let freeAtMs = nowMs;
  for (const { requests, perSeconds } of windows) {
    const oldestThatCounts = times.at(-requests);
    if (oldestThatCounts !== undefined) freeAtMs = Math.max(freeAtMs, oldestThatCounts + perSeconds * 1000);
  }
  return freeAtMs - nowMs;
}

/** How many earlier requests can still matter. */
export function timesKept(windows: readonly RateWindow[]): number {
  return Math.max(0, ...windows.map(({ requests }) => requests));
}
