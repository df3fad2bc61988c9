/** So many requests within any so many seconds. */
export type RateLimit = { requests: number; perSeconds: number };

const secondsOf = { s: 1, min: 60, h: 3600 } as const;

/** Reads `480/min,4800/h`: a count, and `s`, `min` or `h`. Undefined where any part is something else. */
export function parseRateLimits(text: string): RateLimit[] | undefined {
  const limits = text.split(',').map((part) => /^([1-9]\d{0,8})\/(s|min|h)$/.exec(part.trim()));
  if (limits.some((match) => match === null)) return undefined;
  return limits.map((match) => ({
    requests: Number(match?.[1]),
    perSeconds: secondsOf[match?.[2] as keyof typeof secondsOf],
  }));
}

/**
 * How many milliseconds a request at `nowMs` is too early: 0 when no sliding window would hold more than its limit.
 * `timesMs` are the times of those let through, in order.
 */
function tooEarlyMs(timesMs: readonly number[], nowMs: number, limits: readonly RateLimit[]): number {
  return limits.reduce((longest, { requests, perSeconds }) => {
    const blocking = timesMs[timesMs.length - requests];
    return blocking === undefined ? longest : Math.max(longest, blocking + perSeconds * 1000 - nowMs);
  }, 0);
}

/** Lets requests through, for each key by itself; those held back do not count. */
export function rateLimiter(limits: readonly RateLimit[]) {
  const remembered = Math.max(0, ...limits.map(({ requests }) => requests));
  const timesByKey = new Map<string, number[]>();
  return {
    /** 0 when the request may pass, else how many milliseconds to wait. */
    admit(key: string, nowMs: number): number {
      if (limits.length === 0) return 0;
      const times = timesByKey.get(key) ?? [];
      timesByKey.set(key, times);
      const waitMs = tooEarlyMs(times, nowMs, limits);
      if (waitMs > 0) return waitMs;
      times.push(nowMs);
      // Cut now and then, not each time: a shift of a long list moves all of it.
      if (times.length > remembered * 2) times.splice(0, times.length - remembered);
      return 0;
    },
  };
}
