import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { inTurns } from '../../src/job/in-turns.ts';
import { stillClock } from '../mirror/open-test-mirror.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('does not await a step that takes long where others wait, twice as long the next time, and less again after a step', async () => {
  const clock = { ...stillClock, now: () => Date.now() };
  const parts: number[] = [];
  let looks = 0;
  const turn = { isWanted: () => parts.length < 4, giveWay: () => Promise.resolve() };
  const ended = inTurns(
    { turn, clock, signal: new AbortController().signal },
    () => Promise.resolve(void (looks += 1)),
    async ({ signal, onStep }) => {
      const beganMs = clock.now();
      // The third part takes a step, after which it gives way at once.
      if (parts.length === 2) onStep();
      for (let second = 0; second < 90 && parts.length < 4 && !signal.aborted; second += 1)
        await vi.advanceTimersByTimeAsync(1_000);
      parts.push((clock.now() - beganMs) / 1000);
      signal.throwIfAborted();
      return 'ended';
    },
  );
  await expect(ended).resolves.toBe('ended');
  expect(parts).toEqual([20, 40, 0, 20, 0]);
  // Before each part but the first, whether it may go on.
  expect(looks).toBe(4);
});

it('gives way in the middle of a step also where the clock was set back', async () => {
  let backMs = 0;
  const clock = { ...stillClock, now: () => Date.now() - backMs };
  let parts = 0;
  const turn = { isWanted: () => parts === 0, giveWay: () => Promise.resolve() };
  const ended = inTurns(
    { turn, clock, signal: new AbortController().signal },
    () => Promise.resolve(),
    async ({ signal }) => {
      backMs = 86_400_000;
      if (parts === 0) await vi.advanceTimersByTimeAsync(60_000);
      parts += 1;
      signal.throwIfAborted();
      return parts;
    },
  );
  await expect(ended).resolves.toBe(2);
});
