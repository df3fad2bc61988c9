/** At most `requests` in any span of `perSeconds` seconds. */
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
 * How many milliseconds a request at `nowMs` is too early; 0 if no sliding window would exceed its limit. `timesMs`
 * are the times of the admitted requests, in order.
 */
function tooEarlyMs(timesMs: readonly number[], nowMs: number, limits: readonly RateLimit[]): number {
  return limits.reduce((longest, { requests, perSeconds }) => {
    const blocking = timesMs[timesMs.length - requests];
    return blocking === undefined ? longest : Math.max(longest, blocking + perSeconds * 1000 - nowMs);
  }, 0);
}

/** Admits requests for each key by itself. Requests that are not admitted do not count. */
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
      // The list is cut only now and then: removing the first item of a long list moves all others.
      if (times.length > remembered * 2) times.splice(0, times.length - remembered);
      return 0;
    },
  };
}
