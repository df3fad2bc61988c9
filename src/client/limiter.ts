import type { Clock } from '../core/clock.ts';
import {
  forecastStarts,
  lanesOver,
  type ForecastStep,
  longestWindowMs,
  requestsLeft,
  timesKept,
  waitMsUntilFree,
  type RateWindow,
} from './rate-limit.ts';
import type { Lane } from '../contract/datasets.ts';
import type { RequestTimes } from './request-times.ts';
import { throttleAt, throttledWindows, throttleMore, unthrottled } from './throttle.ts';

/** Says when requests may start. */
export type Limiter = {
  /** Begins a request and returns the function that ends it, or how many milliseconds it is too early. */
  tryToBegin(lane: Lane): (() => void) | number;
  /** Starts no request for as long as an answer 429 asks, and fewer requests than before for a while after that. */
  slowDown(pauseMs: number, sentAtMs: number): void;
  /** How many requests of a lane may begin now; null where no window limits it. */
  left(lane: Lane): number | null;
  /** When a request of a lane can begin, in milliseconds since 1970; null if it can begin now or in a moment. */
  usedUpUntilMs(lane: Lane): number | null;
  /** As `forecastStarts`, from now on and with the configured windows. */
  forecast(steps: readonly ForecastStep[]): number[];
};

/** The windows of each lane. A request for the list of recordings must also pass the general windows. */
type LaneWindows = Readonly<Record<Lane, readonly RateWindow[]>>;

/** Limits requests by windows over request times, which other processes may share. They are opened at first use. */
export function createLimiter(windows: LaneWindows, clock: Clock, openTimes: () => RequestTimes): Limiter {
  const keptMs = longestWindowMs([...windows.general, ...windows['recordings list']]);
  let opened: RequestTimes | undefined;
  let throttle = unthrottled;

  const pausedUntilMs = (): number => {
    throttle = throttleAt(throttle, clock.now());
    return throttle.pausedUntilMs;
  };
  const timesThatCount = (lane: Lane, nowMs: number): number[] => {
    const most = timesKept(windows[lane]);
    if (most === 0) return [];
    opened ??= openTimes();
    return opened.latest(lane === 'general' ? undefined : lane, most, nowMs);
  };
  const waitMsFor = (lane: Lane, nowMs: number): number =>
    waitMsUntilFree(timesThatCount(lane, nowMs), throttledWindows(throttle, windows[lane], nowMs), nowMs);

  const forecast: Limiter['forecast'] = (steps) => {
    const nowMs = clock.now();
    const times = {
      general: timesThatCount('general', nowMs),
      'recordings list': timesThatCount('recordings list', nowMs),
    };
    return forecastStarts(steps, windows, times, Math.max(nowMs, pausedUntilMs()));
  };

  return {
    forecast,
    tryToBegin: (lane) => {
      const pauseMs = pausedUntilMs() - clock.now();
      if (pauseMs > 0) return pauseMs;
      const lanes = lanesOver(lane);
      if (lanes.every((lane) => windows[lane].length === 0)) return () => undefined;
      const times = (opened ??= openTimes());
      return times.atomically(() => {
        // The clock is read only now: before the wait, the ends of another process would lie in the future.
        const nowMs = clock.now();
        times.confine(nowMs - keptMs, nowMs + clockStepMs);
        const waitMs = Math.max(...lanes.map((lane) => waitMsFor(lane, nowMs)));
        if (waitMs > 0) return waitMs;
        const id = times.begin(lane, nowMs);
        return () => times.end(id, clock.now() + clockStepMs);
      });
    },
    slowDown: (pauseMs, sentAtMs) => {
      throttle = throttleMore(throttle, { pauseMs, sentAtMs, nowMs: clock.now() });
    },
    left: (lane) => {
      const nowMs = clock.now();
      const isPaused = pausedUntilMs() > nowMs;
      const left = lanesOver(lane).flatMap((lane) => {
        const used = throttledWindows(throttle, windows[lane], nowMs);
        return requestsLeft(timesThatCount(lane, nowMs), used, nowMs) ?? [];
      });
      return left.length === 0 ? null : isPaused ? 0 : Math.min(...left);
    },
    usedUpUntilMs: (lane) => {
      const [freeAtMs = 0] = forecast([{ lane, requests: 1 }]);
      return freeAtMs - clock.now() > momentMs ? freeAtMs : null;
    },
  };
}

/** A wait too short to be shown: a window of about a second is full now and then. */
const momentMs = 2000;

/** The clock cuts off fractions of a millisecond, so an end is counted one millisecond later. */
const clockStepMs = 1;
