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
import type { EndRequest, Kept, RequestTimes } from './request-times.ts';
import { throttleAt, throttledWindows, throttleMore, unthrottled } from './throttle.ts';

/** Says when requests may start. */
export type Limiter = {
  /** Begins a request and returns the function that ends it, or how many milliseconds it is too early. */
  tryToBegin(lane: Lane): Promise<EndRequest | number>;
  /** Starts no request for as long as an answer 429 asks, and fewer requests than before for a while after that. */
  slowDown(pauseMs: number, sentAtMs: number): void;
  /** How many requests of a lane may begin now; null where no window limits it. */
  left(lane: Lane): Promise<number | null>;
  /** When a request of a lane can begin, in milliseconds since 1970; null if it can begin now or in a moment. */
  usedUpUntilMs(lane: Lane): Promise<number | null>;
  /** As `forecastStarts`, from now on and with the configured windows. */
  forecast(steps: readonly ForecastStep[]): Promise<number[]>;
};

/** The windows of each lane. A request for the list of recordings must also pass the general windows. */
type LaneWindows = Readonly<Record<Lane, readonly RateWindow[]>>;

/** Limits requests by windows over request times, which other processes may share. They are opened at first use. */
export function createLimiter(
  windows: LaneWindows,
  clock: Clock,
  openTimes: (clock: Clock, kept: Kept) => RequestTimes,
): Limiter {
  const kept: Kept = {
    ms: longestWindowMs([...windows.general, ...windows['recordings list']]),
    requests: { general: timesKept(windows.general), 'recordings list': timesKept(windows['recordings list']) },
  };
  let opened: RequestTimes | undefined;
  let throttle = unthrottled;

  const times = (): RequestTimes => (opened ??= openTimes(clock, kept));
  const isLimited = (lane: Lane): boolean => lanesOver(lane).some((lane) => windows[lane].length > 0);
  const pausedUntilMs = (): number => {
    throttle = throttleAt(throttle, clock.now());
    return throttle.pausedUntilMs;
  };
  const inForce = (lane: Lane): readonly RateWindow[] => throttledWindows(throttle, windows[lane], clock.now());

  const forecast: Limiter['forecast'] = async (steps) => {
    if (!isLimited('recordings list')) return steps.map(() => Math.max(clock.now(), pausedUntilMs()));
    const { nowMs, ends } = await times().read();
    return forecastStarts(steps, windows, ends, Math.max(nowMs, pausedUntilMs()));
  };

  return {
    forecast,
    tryToBegin: async (lane) => {
      const pauseMs = pausedUntilMs() - clock.now();
      if (pauseMs > 0) return pauseMs;
      if (!isLimited(lane)) return () => Promise.resolve();
      return times().tryToBegin(lane, ({ nowMs, ends }) =>
        Math.max(...lanesOver(lane).map((lane) => waitMsUntilFree(ends[lane], inForce(lane), nowMs))),
      );
    },
    slowDown: (pauseMs, sentAtMs) => {
      throttle = throttleMore(throttle, { pauseMs, sentAtMs, nowMs: clock.now() });
    },
    left: async (lane) => {
      if (!isLimited(lane)) return null;
      const { nowMs, ends } = await times().read();
      const left = lanesOver(lane).flatMap((lane) => requestsLeft(ends[lane], inForce(lane), nowMs) ?? []);
      return pausedUntilMs() > clock.now() ? 0 : Math.min(...left);
    },
    usedUpUntilMs: async (lane) => {
      const [freeAtMs = 0] = await forecast([{ lane, requests: 1 }]);
      return freeAtMs - clock.now() > momentMs ? freeAtMs : null;
    },
  };
}

/** A wait too short to be shown: a window of about a second is full now and then. */
const momentMs = 2000;
