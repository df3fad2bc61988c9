import { AppError } from './errors.ts';
import type { Clock } from './clock.ts';

/** How long a call is tried again. All durations in milliseconds. */
export type RetryLimits = {
  attemptsMax: number;
  /** The first wait is at most this; each further one at most twice the last. */
  delayBaseMs: number;
  delayMaxMs: number;
  /** No new attempt starts later than this after the first one failed, what `uncountedMs` says left aside. */
  totalMs: number;
};

/**
 * What retrying needs from outside. `random` returns a number from 0 (included) to 1 (excluded), `uncountedMs` how much of the time
 * since the first failure, with the wait that follows, does not count for the limit.
 */
export type RetryTools = {
  clock: Clock;
  random: () => number;
  signal?: AbortSignal | undefined;
  uncountedMs?: () => number;
  onRetry?: ((error: AppError, attempt: number, delayMs: number) => void) | undefined;
};

/** How long to wait after an attempt that failed (1 is the first): full jitter, below a bound that doubles. */
export function backoffMs(
  attempt: number,
  { delayBaseMs, delayMaxMs }: Pick<RetryLimits, 'delayBaseMs' | 'delayMaxMs'>,
  random: () => number,
): number {
  return random() * Math.min(delayMaxMs, delayBaseMs * 2 ** (attempt - 1));
}

/** Calls until success, an error that is not retryable, or a limit. Waits with full jitter, and as long as asked. */
export async function retry<T>(
  call: (attempt: number) => Promise<T>,
  limits: RetryLimits,
  { clock, random, signal, uncountedMs = () => 0, onRetry }: RetryTools,
): Promise<T> {
  let failedAt: number | undefined;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call(attempt);
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof AppError) || !error.retryable || attempt >= limits.attemptsMax) throw error;
      // Not since the beginning: a call may have waited for its first turn longer than it may be repeated.
      failedAt ??= clock.now();
      const delayMs = Math.max(backoffMs(attempt, limits, random), error.retryAfterMs ?? 0);
      if (clock.now() + delayMs - failedAt - uncountedMs() > limits.totalMs) throw error;
      onRetry?.(error, attempt, delayMs);
      await clock.sleep(delayMs, signal);
    }
  }
}
