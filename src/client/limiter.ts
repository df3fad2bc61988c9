import type { Clock } from '../core/clock.ts';
import {
  forecastStarts,
  lanesOver,
  type ForecastStep,
  requestsLeft,
  timesKept,
  waitMsUntilFree,
  type RateWindow,
} from './rate-limit.ts';
import type { Lane } from '../contract/datasets.ts';
import { budgetStanding, type BudgetStanding } from './budget-standing.ts';
import {
  learningRange,
  learntWindow,
  raiseLimit,
  slowPace,
  type Pace,
  type Throttled,
  isFullShare,
  throttleAt,
  throttledWindows,
} from './pace.ts';
import { memoryRequestTimes, type EndRequest, type Kept, type Reading, type RequestTimes } from './request-times.ts';

/** Says when requests may start. */
export type Limiter = {
  /** Begins a request and returns the function that ends it, or how many milliseconds it is too early. */
  tryToBegin(lane: Lane): Promise<EndRequest | number>;
  /** Starts no request for as long as an answer 429 asks, and fewer requests than before for a while after that. */
  slowDown(throttled: Throttled): Promise<void>;
  /** How many requests of a lane may begin now; null where no window limits it. */
  left(lane: Lane): Promise<number | null>;
  /** When a request of a lane can begin, in milliseconds since 1970; null if it can begin now or in a moment. */
  usedUpUntilMs(lane: Lane): Promise<number | null>;
  /** As `forecastStarts`, from now on and with the windows as they were learnt. */
  forecast(steps: readonly ForecastStep[]): Promise<number[]>;
  /** What answers 429 have taught. */
  standing(): Promise<BudgetStanding>;
};

/** The windows of each lane. A request for the list of recordings must also pass the general windows. */
type LaneWindows = Readonly<Record<Lane, readonly RateWindow[]>>;

/**
 * Limits requests by windows over request times, which other processes may share. They are opened at first use. The general
 * window as long as `learnUpTo` is raised step by step up to it, as long as no 429 comes.
 */
export function createLimiter(
  windows: LaneWindows,
  learnUpTo: RateWindow | null,
  clock: Clock,
  openTimes: (clock: Clock, kept: Kept) => RequestTimes,
): Limiter {
  const range = learningRange(windows.general, learnUpTo);
  const kept: Kept = {
    ms: Math.max(0, ...[...windows.general, ...windows['recordings list']].map(({ perSeconds }) => perSeconds * 1000)),
    requests: {
      general: Math.max(timesKept(windows.general), range?.upTo ?? 0),
      'recordings list': timesKept(windows['recordings list']),
    },
  };
  let opened: RequestTimes | undefined;
  const isLimited = (lane: Lane): boolean => lanesOver(lane).some((lane) => windows[lane].length > 0);
  const times = (): RequestTimes =>
    (opened ??= (isLimited('recordings list') ? openTimes : memoryRequestTimes)(clock, kept));

  /** The pace of a reading: raised, where a window is full and may be raised. */
  const paceOf = ({ pace, ends, nowMs }: Reading): Pace => {
    const throttle = throttleAt(pace.throttle, nowMs);
    const mayRise = range && throttle.pausedUntilMs <= nowMs && isFullShare(throttle, nowMs);
    return { throttle, learnt: mayRise ? raiseLimit(pace.learnt, range, ends.general, nowMs) : pace.learnt };
  };
  const learntOf = (lane: Lane, { learnt }: Pace): readonly RateWindow[] =>
    windows[lane].map((window) =>
      lane === 'general' && range?.perSeconds === window.perSeconds ? learntWindow(range, learnt) : window,
    );
  const inForce = (lane: Lane, pace: Pace, nowMs: number): readonly RateWindow[] =>
    throttledWindows(pace.throttle, learntOf(lane, pace), nowMs);

  const tooEarlyMs = (lane: Lane, { ends, nowMs }: Reading, pace: Pace): number => {
    const pauseMs = pace.throttle.pausedUntilMs - nowMs;
    if (pauseMs > 0) return pauseMs;
    return Math.max(...lanesOver(lane).map((lane) => waitMsUntilFree(ends[lane], inForce(lane, pace, nowMs), nowMs)));
  };
  const forecast: Limiter['forecast'] = async (steps) => {
    const reading = await times().read();
    const pace = paceOf(reading);
    const startMs = Math.max(reading.nowMs, pace.throttle.pausedUntilMs);
    const learnt = { general: learntOf('general', pace), 'recordings list': windows['recordings list'] };
    return forecastStarts(steps, learnt, reading.ends, startMs);
  };

  return {
    forecast,
    tryToBegin: async (lane) => {
      const judged = { isOther: false };
      const begun = await times().tryToBegin(lane, (reading) => {
        const pace = paceOf(reading);
        judged.isOther = pace.learnt !== reading.pace.learnt || pace.throttle !== reading.pace.throttle;
        return tooEarlyMs(lane, reading, pace);
      });
      // A process that ends before has raised nothing: the next one finds the window as full. A pause of before the clock was set
      // back would begin anew at each look.
      if (judged.isOther) await times().changePace(paceOf);
      return begun;
    },
    slowDown: (throttled) =>
      times().changePace(({ pace, ends, nowMs }) => slowPace(pace, throttled, { range, times: ends.general, nowMs })),
    left: async (lane) => {
      if (!isLimited(lane)) return null;
      const reading = await times().read();
      const { ends, nowMs } = reading;
      const pace = paceOf(reading);
      const left = lanesOver(lane).flatMap((lane) => requestsLeft(ends[lane], inForce(lane, pace, nowMs), nowMs) ?? []);
      return pace.throttle.pausedUntilMs > nowMs ? 0 : Math.min(...left);
    },
    usedUpUntilMs: async (lane) => {
      const [freeAtMs = 0] = await forecast([{ lane, requests: 1 }]);
      return freeAtMs - clock.now() > momentMs ? freeAtMs : null;
    },
    standing: async () => {
      const { pace, nowMs } = await times().read();
      return budgetStanding({ windows: windows.general, learnUpTo }, pace, nowMs);
    },
  };
}

/** A wait too short to be shown: a window of about a second is full now and then. */
const momentMs = 2000;
