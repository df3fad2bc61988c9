import type { Lane } from '../contract/datasets.ts';

/**
 * When requests were made, by all processes that share the limits. All times are milliseconds of one clock. A request
 * reaches the service between its beginning and its end, so the end is the latest moment at which the service can
 * count it.
 */
export type RequestTimes = {
  /** Does `work` while no other process reads or writes times. */
  atomically<T>(work: () => T): T;
  /** Forgets requests that ended before `oldestMs`. An end after `nowMs` (the clock was set back) becomes `nowMs`. */
  confine(oldestMs: number, nowMs: number): void;
  /** The ends of the latest requests, at most `most`, oldest first. A request under way ends `nowMs`. */
  latest(lane: Lane | undefined, most: number, nowMs: number): number[];
  /** Records that a request begins, and returns the id by which it is ended. */
  begin(lane: Lane, nowMs: number): number;
  end(id: number, endedAtMs: number): void;
};

/** Request times of this process alone, kept in memory. */
export function memoryRequestTimes(): RequestTimes {
  let nextId = 0;
  const underWay = new Map<number, Lane>();
  let ended: { lane: Lane; atMs: number }[] = [];
  const isOf = (lane: Lane | undefined) => (other: Lane) => lane === undefined || lane === other;
  return {
    atomically: (work) => work(),
    confine: (oldestMs, nowMs) => {
      ended = ended
        .filter(({ atMs }) => atMs >= oldestMs)
        .map(({ lane, atMs }) => ({ lane, atMs: Math.min(atMs, nowMs) }));
    },
    latest: (lane, most, nowMs) => {
      const past = ended.filter((request) => isOf(lane)(request.lane)).map(({ atMs }) => atMs);
      const present = [...underWay.values()].filter(isOf(lane)).map(() => nowMs);
      return [...past.toSorted((a, b) => a - b), ...present].slice(-most);
    },
    begin: (lane) => {
      underWay.set((nextId += 1), lane);
      return nextId;
    },
    end: (id, atMs) => {
      const lane = underWay.get(id);
      if (lane === undefined) return;
      underWay.delete(id);
      ended.push({ lane, atMs });
    },
  };
}
