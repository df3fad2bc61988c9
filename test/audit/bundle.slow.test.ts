import { expect, it } from 'vitest';
import { checkNewBundle } from './bundle-fixture.ts';

it('a bundle does not verify after any change of a single byte', () => {
  expect(checkNewBundle('bare', 1)).toBeGreaterThan(10_000);
}, 600_000);

it('nor does one with anchors, by a policy that needs each of them', () => {
  expect(checkNewBundle('anchored', 5)).toBeGreaterThan(2000);
}, 600_000);
