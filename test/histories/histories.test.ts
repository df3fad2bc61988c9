import { expect, test } from 'vitest';
import { playSample } from './sample.ts';

// A few for the fast set. The slow set has more, and `search.ts` plays as many as wanted.
test('whatever happens, README’s promises hold', async () => {
  const { killed, erased, loaded, withoutLights } = await playSample(2, 19);
  expect(Math.min(killed, erased, loaded, withoutLights)).toBeGreaterThan(0);
}, 120_000);
