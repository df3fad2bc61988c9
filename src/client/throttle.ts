import type { RateWindow } from './rate-limit.ts';

/**
 * How far requests are held back since the service answered 429 (too many requests): until `pausedUntilMs` none is
 * made, and from `cutAtMs` on the windows are used only to a `share` of what the settings allow, which grows again.
 */
export type Throttle = { cutAtMs: number; share: number; pausedUntilMs: number };

/** An answer 429: when its request was sent, when it came, and how long it asks to pause. */
export type Throttling = { sentAtMs: number; nowMs: number; pauseMs: number };

const cutFactor = 0.5;
const shareMin = 0.1;
const sharePerMs = 0.1 / 60_000;

/** Nothing is held back. */
export const unthrottled: Throttle = { cutAtMs: 0, share: 1, pausedUntilMs: 0 };

/**
 * Pauses, never for less than was asked before, and halves the share, down to a tenth. Requests that were under way
 * when the share was last cut say nothing new: several answers to one burst cut once.
 */
export function throttleMore(before: Throttle, { sentAtMs, nowMs, pauseMs }: Throttling): Throttle {
  const throttle = throttleAt(before, nowMs);
  const pausedUntilMs = Math.max(throttle.pausedUntilMs, nowMs + pauseMs);
  if (sentAtMs < throttle.cutAtMs) return { ...throttle, pausedUntilMs };
  const share = Math.max(shareMin, shareAt(throttle, nowMs) * cutFactor);
  return { cutAtMs: nowMs, share, pausedUntilMs };
}

/** The same by a clock that was set back meanwhile: as if the answer had just come, so that nothing waits for longer. */
export function throttleAt(throttle: Throttle, nowMs: number): Throttle {
  const aheadMs = throttle.cutAtMs - nowMs;
  if (aheadMs <= 0) return throttle;
  return { ...throttle, cutAtMs: nowMs, pausedUntilMs: throttle.pausedUntilMs - aheadMs };
}

/** The windows as they are used now: the share grows by a tenth of the whole each minute; one request always remains. */
export function throttledWindows(
  throttle: Throttle,
  windows: readonly RateWindow[],
  nowMs: number,
): readonly RateWindow[] {
  const share = shareAt(throttle, nowMs);
  if (share === 1) return windows;
  return windows.map(({ requests, perSeconds }) => ({
    requests: Math.max(1, Math.floor(requests * share)),
    perSeconds,
  }));
}

function shareAt({ cutAtMs, share }: Throttle, nowMs: number): number {
  return Math.min(1, share + (nowMs - cutAtMs) * sharePerMs);
}
