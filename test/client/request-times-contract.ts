import { describe, expect, test } from 'vitest';
import { freshPace } from '../../src/client/pace.ts';
import type { EndRequest, Kept, RequestTimes } from '../../src/client/request-times.ts';
import type { Lane } from '../../src/contract/datasets.ts';

/** Request times on a clock that a test sets, with what keeps them for as long as the test runs. */
export type TimesWorld = {
  /** Opens the times once more, as another process would; in memory, the same ones. */
  open: () => RequestTimes;
  setTo: (ms: number) => Promise<void>;
};

const kept: Kept = { ms: 10_000, requests: { general: 4, 'recordings list': 2 } };
const never = (): number => 0;

async function begin(times: RequestTimes, lane: Lane = 'general'): Promise<EndRequest> {
  const begun = await times.tryToBegin(lane, never);
  if (typeof begun === 'number') throw new Error('was too early');
  return begun;
}

/** What every store of request times promises. A request that ends at 5 can have reached its service until 6. */
export function holdRequestTimes(name: string, openWorld: (kept: Kept) => Promise<TimesWorld>): void {
  describe(`request times ${name}`, () => {
    const at = async (world: TimesWorld, times: RequestTimes, ms: number): Promise<readonly number[]> => {
      await world.setTo(ms);
      return (await times.read()).ends.general;
    };

    test('are the latest ends, the oldest first, whatever order they came in', async () => {
      const world = await openWorld(kept);
      const times = world.open();
      await world.setTo(100);
      const ends = [await begin(times), await begin(times), await begin(times), await begin(times), await begin(times)];
      for (const [index, ms] of [
        [1, 110],
        [4, 115],
        [3, 120],
        [2, 130],
        [0, 140],
      ] as const) {
        await world.setTo(ms);
        await ends[index]?.();
      }
      expect(await at(world, times, 200)).toEqual([116, 121, 131, 141]);
    });

    test('are those of one lane, or of all', async () => {
      const world = await openWorld(kept);
      const times = world.open();
      await world.setTo(1);
      await (
        await begin(times)
      )();
      await world.setTo(3);
      await (
        await begin(times, 'recordings list')
      )();
      await world.setTo(10);
      expect(await times.read()).toMatchObject({ nowMs: 10, ends: { general: [2, 4], 'recordings list': [4] } });
    });

    test('count a request under way as ending now, until it has ended', async () => {
      const world = await openWorld(kept);
      const times = world.open();
      await world.setTo(100);
      const end = await begin(times);
      expect(await at(world, times, 150)).toEqual([150]);
      await world.setTo(160);
      await end();
      expect(await at(world, times, 999)).toEqual([161]);
    });

    test('forget what ended too long ago, and nothing that is under way', async () => {
      const world = await openWorld(kept);
      const times = world.open();
      await world.setTo(100);
      const [first, second] = [await begin(times), await begin(times)];
      await first();
      await world.setTo(500);
      await second();
      const third = await begin(times);
      await world.setTo(10_200);
      await times.tryToBegin('general', () => 1);
      expect((await times.read()).ends.general).toEqual([501, 10_200]);
      await third();
    });

    test('take ends in the future, where the clock was set back, for ends just now, once and for all', async () => {
      const world = await openWorld(kept);
      const times = world.open();
      await world.setTo(9000);
      await (
        await begin(times)
      )();
      await world.setTo(2000);
      await times.tryToBegin('general', () => 1);
      expect(await at(world, times, 3000)).toEqual([2001]);
    });

    test('begin nothing that is too early, and say by how much', async () => {
      const world = await openWorld(kept);
      const times = world.open();
      await world.setTo(100);
      expect(await times.tryToBegin('general', () => 17)).toBe(17);
      expect((await times.read()).ends.general).toEqual([]);
    });

    test('pass an error of the judgement on, and begin nothing', async () => {
      const world = await openWorld(kept);
      const times = world.open();
      await world.setTo(100);
      const failing = (): number => {
        throw new Error('failed');
      };
      await expect((async () => times.tryToBegin('general', failing))()).rejects.toThrow('failed');
      expect((await times.read()).ends.general).toEqual([]);
      await (
        await begin(times)
      )();
    });

    test('keep a pace, for all who open them', async () => {
      const world = await openWorld(kept);
      const [one, other] = [world.open(), world.open()];
      await world.setTo(100);
      expect((await one.read()).pace).toEqual(freshPace);
      const slowed = {
        throttle: { cutAtMs: 100, share: 0.5, pausedUntilMs: 700 },
        learnt: { requests: 7, sinceMs: 100, keptUntilMs: 900 },
      };
      await one.changePace(({ nowMs, pace }) => {
        expect([nowMs, pace]).toEqual([100, freshPace]);
        return slowed;
      });
      expect((await other.read()).pace).toEqual(slowed);
      await other.tryToBegin('general', ({ pace }) => {
        expect(pace).toEqual(slowed);
        return 1;
      });
    });

    test('let one begin after another, however many ask at once', async () => {
      const world = await openWorld(kept);
      const stores = [world.open(), world.open(), world.open()];
      await world.setTo(100);
      const asked = Array.from({ length: 12 }, async (_value, index) =>
        stores[index % 3]?.tryToBegin('general', ({ ends }) => (ends.general.length < 3 ? 0 : 1000)),
      );
      const begun = (await Promise.all(asked)).filter((each) => typeof each === 'function');
      expect(begun).toHaveLength(3);
      for (const end of begun) await end();
    });
  });
}
