import type { Lane } from '../contract/datasets.ts';

/** At most `requests` in any span of `perSeconds` seconds. */
export type RateWindow = { requests: number; perSeconds: number };

/** Milliseconds until no window is exceeded. `times`: when requests can have reached the service, oldest first. */
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

/** The lanes whose windows a request must pass. */
export function lanesOver(lane: Lane): readonly Lane[] {
  return lane === 'general' ? [lane] : ['general', lane];
}

/** Some requests of one lane. */
export type ForecastStep = { lane: Lane; requests: number };

/**
 * When the last request of each step will start. The steps follow one another, and each request starts as soon as the
 * windows allow. `times` are the times of earlier requests, oldest first; `general` holds all of them. The time that
 * the requests themselves take is not included. All times are milliseconds since 1970.
 */
export function forecastStarts(
  steps: readonly ForecastStep[],
  windows: Readonly<Record<Lane, readonly RateWindow[]>>,
  times: Readonly<Record<Lane, readonly number[]>>,
  nowMs: number,
): number[] {
  const counted = { general: [...times.general], 'recordings list': [...times['recordings list']] };
  let atMs = nowMs;
  return steps.map(({ lane, requests }) => {
    const lanes = lanesOver(lane);
    for (let request = 0; request < requests; request += 1) {
      const startMs = atMs;
      atMs = Math.max(...lanes.map((lane) => startMs + waitMsUntilFree(counted[lane], windows[lane], startMs)));
      for (const lane of lanes) counted[lane].push(atMs);
    }
    return atMs;
  });
}
