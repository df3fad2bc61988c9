/** A bucket of tokens: so many at first and at most, refilled evenly over `refillMs`. */
export type Bucket = { tokens: number; atMs: number };

/** How much a bucket holds, and how long it takes to fill. */
export type Rate = { most: number; refillMs: number };

/** Takes a token. Returns 0, or after how many milliseconds there is one; then none is taken. A clock that was set back refills nothing. */
export function takeToken(bucket: Bucket, { most, refillMs }: Rate, nowMs: number): number {
  const passedMs = Math.min(Math.max(nowMs - bucket.atMs, 0), refillMs);
  bucket.tokens = Math.min(most, bucket.tokens + (passedMs * most) / refillMs);
  bucket.atMs = nowMs;
  if (bucket.tokens < 1) return Math.ceil(((1 - bucket.tokens) * refillMs) / most);
  bucket.tokens -= 1;
  return 0;
}

/** Gives a token back that was taken for nothing. */
export function giveBack(bucket: Bucket, { most }: Rate): void {
  bucket.tokens = Math.min(most, bucket.tokens + 1);
}

/** The bucket of each name, full when it is first asked for. */
export function buckets(nowMs: () => number): (name: string, rate: Rate) => Bucket {
  const all = new Map<string, Bucket>();
  return (name, rate) => {
    const bucket = all.get(name) ?? { tokens: rate.most, atMs: nowMs() };
    all.set(name, bucket);
    return bucket;
  };
}
