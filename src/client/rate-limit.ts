/** At most `requests` in any span of `perSeconds` seconds. */
export type RateWindow = { requests: number; perSeconds: number };

/**
 * How many milliseconds the next request must wait so that no window is exceeded. `times` are the latest moments at
 * which earlier requests can have reached the service, in milliseconds, oldest first.
 */
export function waitMsUntilFree(times: readonly number[], windows: readonly RateWindow[], nowMs: number): number {
  let freeAtMs = nowMs;
  for (const { requests, perSeconds } of windows) {
    const oldestThatCounts = times.at(-requests);
    if (oldestThatCounts !== undefined) freeAtMs = Math.max(freeAtMs, oldestThatCounts + perSeconds * 1000);
  }
  return freeAtMs - nowMs;
}

/** How many requests may start now before a window is full; null without windows. `times` as above. */
export function requestsLeft(times: readonly number[], windows: readonly RateWindow[], nowMs: number): number | null {
  if (windows.length === 0) return null;
  const left = windows.map(({ requests, perSeconds }) => {
    const firstThatCounts = times.findIndex((time) => time > nowMs - perSeconds * 1000);
    return requests - (firstThatCounts === -1 ? 0 : times.length - firstThatCounts);
  });
  return Math.max(0, Math.min(...left));
}

/** How many of the latest requests can still count in a window. */
export function timesKept(windows: readonly RateWindow[]): number {
  return Math.max(0, ...windows.map(({ requests }) => requests));
}

/** For how many milliseconds a request can count in a window. */
export function longestWindowMs(windows: readonly RateWindow[]): number {
  return Math.max(0, ...windows.map(({ perSeconds }) => perSeconds * 1000));
}
