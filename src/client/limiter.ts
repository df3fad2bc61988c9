import type { Clock } from '../core/clock.ts';
import { forecastStarts, type ForecastStep } from './forecast.ts';
import { longestWindowMs, requestsLeft, timesKept, waitMsUntilFree, type RateWindow } from './rate-limit.ts';
import type { Lane } from '../contract/datasets.ts';
import type { RequestTimes } from './request-times.ts';
import { throttleAt, throttledWindows, throttleMore, unthrottled } from './throttle.ts';

/** Says when requests may start. */
export type Limiter = {
  /** Begins a request and returns how to end it, or how many milliseconds it is too early for one. */
  tryToBegin(lane: Lane): (() => void) | number;
  /** Lets nothing begin for as long as a 429 asked, and less than before for a while. */
  slowDown(pauseMs: number, sentAtMs: number): void;
  /** How many requests of a lane may begin now; null where no window limits it. */
  left(lane: Lane): number | null;
  /**
   * When a request of a lane can begin, in milliseconds since 1970, where it would have to wait for long: null where it
   * can begin now, or in a moment.
   */
  usedUpUntilMs(lane: Lane): number | null;
  /** See `forecastStarts`: from now on, by the windows as they are configured. */
  forecast(steps: readonly ForecastStep[]): number[];
};

/** The windows that a lane adds to those above it. */
type LaneWindows = Readonly<Record<Lane, readonly RateWindow[]>>;

/** Limits by windows over times that others may share. These are opened when a window first asks for them. */
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
        // Read only now: whoever waited for another process would take that one's ends for ends in the future.
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

/** A wait that nobody notices: windows of a second or so are full now and then. */
const momentMs = 2000;

/** The clock cuts fractions of a millisecond off, so something ended before the millisecond after it. */
const clockStepMs = 1;

/** Whose windows a request of a lane has to pass. */
function lanesOver(lane: Lane): readonly Lane[] {
  return lane === 'general' ? [lane] : ['general', lane];
}
