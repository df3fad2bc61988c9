import { clockStepMs, type Clock } from '../core/clock.ts';
import type { Lane } from '../contract/datasets.ts';
import { freshPace, type Pace } from './pace.ts';

/** When the latest requests of each lane ended, the oldest first; `general` has those of all lanes. */
type LatestEnds = Readonly<Record<Lane, readonly number[]>>;

/**
 * What the shared times say at a moment of their clock. A request reaches the service between its beginning and its end, so the
 * end is the latest moment at which the service can count it; a request under way ends at `nowMs`. Milliseconds since 1970.
 */
export type Reading = { nowMs: number; ends: LatestEnds; pace: Pace };

/** Notes the end of a request. */
export type EndRequest = () => Promise<void>;

/** Which times are kept: how long after its end a request can count, and how many of each lane can. */
export type Kept = { ms: number; requests: Readonly<Record<Lane, number>> };

/** When requests were made, by all processes that share the limits. Rejects with an `AppError` where they cannot be read. */
export type RequestTimes = {
  read(): Promise<Reading>;
  /**
   * Begins a request of a lane, unless `tooEarlyMs` says of the reading that it is so many milliseconds too early. Nobody else
   * begins one between reading and beginning. Returns those milliseconds, or what notes the end of the request.
   */
  tryToBegin(lane: Lane, tooEarlyMs: (reading: Reading) => number): Promise<EndRequest | number>;
  /** Changes the pace. Nobody else changes it, or begins a request, between reading and change. */
  changePace(change: (reading: Reading) => Pace): Promise<void>;
};

/** Request times of this process alone, kept in memory. */
export function memoryRequestTimes(clock: Clock, kept: Kept): RequestTimes {
  const underWay = new Set<{ lane: Lane }>();
  let ended: { lane: Lane; atMs: number }[] = [];
  let pace = freshPace;
  const read = (): Reading => {
    const nowMs = clock.now();
    // Where the clock was set back, an end in the future is taken for one just now, once and for all.
    ended = ended
      .filter(({ atMs }) => atMs >= nowMs - kept.ms)
      .map(({ lane, atMs }) => ({ lane, atMs: Math.min(atMs, nowMs + clockStepMs) }));
    const endsOf = (lane: Lane): number[] => {
      const counts = (other: { lane: Lane }): boolean => lane === 'general' || lane === other.lane;
      const past = ended.filter(counts).map(({ atMs }) => atMs);
      const present = [...underWay].filter(counts).map(() => nowMs);
      const ends = [...past.toSorted((a, b) => a - b), ...present];
      return ends.slice(Math.max(0, ends.length - kept.requests[lane]));
    };
    return { nowMs, ends: { general: endsOf('general'), 'recordings list': endsOf('recordings list') }, pace };
  };
  return {
    read: () => Promise.resolve(read()),
    tryToBegin: (lane, tooEarlyMs) => {
      const waitMs = tooEarlyMs(read());
      if (waitMs > 0) return Promise.resolve(waitMs);
      const request = { lane };
      underWay.add(request);
      return Promise.resolve(() => {
        if (underWay.delete(request)) ended.push({ lane, atMs: clock.now() + clockStepMs });
        return Promise.resolve();
      });
    },
    changePace: (change) => {
      pace = change(read());
      return Promise.resolve();
    },
  };
}
