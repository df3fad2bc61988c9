import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { anchor, policyText } from '../ledger/anchored-vectors.ts';
import { bundleFolder, bundleOf, checkBytes } from './bundle-fixture.ts';

// `bundle.slow.test.ts` changes every byte. An odd step meets even and odd places, whose bytes change in different bits.
it('a bundle does not verify after a change of a byte, wherever it stands', () => {
  const { dataDir, keys } = bundleFolder();
  const checked = checkBytes({ ...bundleOf(dataDir, 1), keys }, 11);
  rmSync(dataDir, { recursive: true });
  expect(checked).toBeGreaterThan(1000);
});

it('nor does one with anchors, by a policy that needs each of them', () => {
  const { dataDir, keys } = bundleFolder();
  const folder = join(dataDir, 'ledger');
  anchor(folder, { atMs: Date.UTC(2026, 10, 22) });
  const policy = policyText(folder, { max_age_seconds: 400 * 86_400 });
  // Each byte of a time stamp is changed in a test of its own.
  const checked = checkBytes({ ...bundleOf(dataDir, 1), keys, policy }, 41);
  rmSync(dataDir, { recursive: true });
  expect(checked).toBeGreaterThan(200);
});
