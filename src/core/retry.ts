import { AppError } from './errors.ts';
import type { Clock } from './clock.ts';

/** How long a call is tried again. All durations in milliseconds. */
export type RetryLimits = {
  attemptsMax: number;
  /** The first wait is at most this; each further one at most twice the last. */
  delayBaseMs: number;
  delayMaxMs: number;
  /** No new attempt starts later than this after the first one began. */
  totalMs: number;
};

/** What retrying needs from outside. `random` returns a number from 0 (included) to 1 (excluded). */
export type RetryTools = {
  clock: Clock;
  random: () => number;
  signal?: AbortSignal | undefined;
  onRetry?: ((error: AppError, attempt: number, delayMs: number) => void) | undefined;
};

/**
 * Calls until it succeeds, an error is not retryable, or the limits are reached; then throws the last error.
 * The wait has full jitter, and is never shorter than the service asked for.
 */
export async function retry<T>(
  call: (attempt: number) => Promise<T>,
  limits: RetryLimits,
  { clock, random, signal, onRetry }: RetryTools,
): Promise<T> {
  const startedAt = clock.now();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call(attempt);
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof AppError) || !error.retryable || attempt >= limits.attemptsMax) throw error;
      const backoffMs = random() * Math.min(limits.delayMaxMs, limits.delayBaseMs * 2 ** (attempt - 1));
      const delayMs = Math.max(backoffMs, error.retryAfterMs ?? 0);
      if (clock.now() + delayMs - startedAt > limits.totalMs) throw error;
      onRetry?.(error, attempt, delayMs);
      await clock.sleep(delayMs, signal);
    }
  }
}
