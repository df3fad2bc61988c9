import { rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { bundleFolder, bundleOf, checkBytes } from './bundle-fixture.ts';

it('a bundle does not verify after any change of a single byte', () => {
  const { dataDir, keys } = bundleFolder();
  const checked = checkBytes({ ...bundleOf(dataDir, 1), keys }, 1);
  rmSync(dataDir, { recursive: true });
  expect(checked).toBeGreaterThan(10_000);
}, 600_000);
