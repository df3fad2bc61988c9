import { expect, it } from 'vitest';
import { checkNewBundle } from './bundle-fixture.ts';

// `bundle.slow.test.ts` changes every byte. An odd step meets even and odd places, whose bytes change in different bits.
it('a bundle does not verify after a change of a byte, wherever it stands', () => {
  expect(checkNewBundle('bare', 11)).toBeGreaterThan(1000);
});

it('nor does one with anchors, by a policy that needs each of them', () => {
  expect(checkNewBundle('anchored', 41)).toBeGreaterThan(200);
});
