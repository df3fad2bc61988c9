import type { RateWindow } from './rate-limit.ts';

/** How far requests are slowed since a 429: none until `pausedUntilMs`, then a `share` of each window, which grows. */
export type Throttle = { cutAtMs: number; share: number; pausedUntilMs: number };

/** An answer 429: when its request was sent, when it came, and how long it asks to pause. */
export type Throttling = { sentAtMs: number; nowMs: number; pauseMs: number };

const cutFactor = 0.5;
const shareMin = 0.1;
const sharePerMs = 0.1 / 60_000;

/** Requests are not slowed down. */
export const unthrottled: Throttle = { cutAtMs: 0, share: 1, pausedUntilMs: 0 };

/** Pauses as long as asked and halves the share, to a tenth at least. Answers 429 to one burst cut only once. */
export function throttleMore(before: Throttle, { sentAtMs, nowMs, pauseMs }: Throttling): Throttle {
  const throttle = throttleAt(before, nowMs);
  const pausedUntilMs = Math.max(throttle.pausedUntilMs, nowMs + pauseMs);
  if (sentAtMs < throttle.cutAtMs) return { ...throttle, pausedUntilMs };
  const share = Math.max(shareMin, shareAt(throttle, nowMs) * cutFactor);
  return { cutAtMs: nowMs, share, pausedUntilMs };
}

/** The same throttle after the clock was set back: as if the answer had just come, so that no request waits longer. */
export function throttleAt(throttle: Throttle, nowMs: number): Throttle {
  const aheadMs = throttle.cutAtMs - nowMs;
  if (aheadMs <= 0) return throttle;
  return { ...throttle, cutAtMs: nowMs, pausedUntilMs: throttle.pausedUntilMs - aheadMs };
}

/** The windows as they are used now. The share grows by a tenth a minute; at least one request is allowed. */
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

/** Whether the windows are used in full again. */
export function isFullShare(throttle: Throttle, nowMs: number): boolean {
  return shareAt(throttle, nowMs) === 1;
}

function shareAt({ cutAtMs, share }: Throttle, nowMs: number): number {
  return Math.min(1, share + (nowMs - cutAtMs) * sharePerMs);
}
