import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { maskKeyCheck } from '../../src/export/masks.ts';
import { checkMaskKey } from '../../src/status/folder-checks.ts';
import { exportDataset, exportRequest } from '../export/export-fixture.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';

test('a key that is missing, or another one than the published hashes were made under, is told', async () => {
  const dataDir = temporaryFolder();
  expect(checkMaskKey(dataDir)).toBe('no hash is published yet');
  const mask = [{ property: 'email', how: 'hash' as const }];
  await exportDataset(
    exportRequest(dataDir, {
      dataset: 'persons',
      rows: [],
      settings: { partRows: 4, keep: 2, promote: [], mask, dataDir },
    }),
  );
  expect(maskKeyCheck(dataDir)).toMatch(/^[0-9a-f]{32}$/);
  expect(checkMaskKey(dataDir)).toBe('the published hashes are those of keys/mask.key');
  const key = join(dataDir, 'keys/mask.key');
  writeFileSync(key, `${'22'.repeat(32)}\n`);
  expect(() => checkMaskKey(dataDir)).toThrow('keys/mask.key is another key than');
  rmSync(key);
  expect(() => checkMaskKey(dataDir)).toThrow('keys/mask.key is missing');
  // The check has made no other one.
  expect(maskKeyCheck(dataDir)).toBeUndefined();
  writeFileSync(key, 'torn');
  expect(() => checkMaskKey(dataDir)).toThrow('is damaged');
});
