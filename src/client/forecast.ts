import { waitMsUntilFree, type RateWindow } from './rate-limit.ts';
import type { Lane } from '../contract/datasets.ts';

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
    const lanes: readonly Lane[] = lane === 'general' ? [lane] : ['general', lane];
    for (let request = 0; request < requests; request += 1) {
      const startMs = atMs;
      atMs = Math.max(...lanes.map((lane) => startMs + waitMsUntilFree(counted[lane], windows[lane], startMs)));
      for (const lane of lanes) counted[lane].push(atMs);
    }
    return atMs;
  });
}
