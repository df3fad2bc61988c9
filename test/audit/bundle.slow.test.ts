import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { anchor, policyText } from '../ledger/anchored-vectors.ts';
import { bundleFolder, bundleOf, checkBytes } from './bundle-fixture.ts';

it('a bundle does not verify after any change of a single byte', () => {
  const { dataDir, keys } = bundleFolder();
  const checked = checkBytes({ ...bundleOf(dataDir, 1), keys }, 1);
  rmSync(dataDir, { recursive: true });
  expect(checked).toBeGreaterThan(10_000);
}, 600_000);

it('nor does one with anchors, by a policy that needs each of them', () => {
  const { dataDir, keys } = bundleFolder();
  const folder = join(dataDir, 'ledger');
  anchor(folder, { atMs: Date.UTC(2026, 10, 22) });
  const policy = policyText(folder, { max_age_seconds: 400 * 86_400 });
  // Each byte of a time stamp is changed in a test of its own.
  const checked = checkBytes({ ...bundleOf(dataDir, 1), keys, policy }, 5);
  rmSync(dataDir, { recursive: true });
  expect(checked).toBeGreaterThan(2000);
}, 600_000);
