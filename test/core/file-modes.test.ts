import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { refuseOpenModes } from '../../src/core/file-modes.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';

test('a data folder and keys that only their owner may read are let pass, with and without keys', () => {
  const folder = freshFolder();
  expect(() => refuseOpenModes(folder)).not.toThrow();
  mkdirSync(join(folder, 'keys'), { mode: 0o700 });
  writeFileSync(join(folder, 'keys', 'fence.key'), '', { mode: 0o600 });
  expect(() => refuseOpenModes(folder)).not.toThrow();
});

test('whatever is wider is refused with the commands that mend it', () => {
  const folder = freshFolder();
  const keys = join(folder, 'keys');
  const key = join(keys, 'fence.key');
  mkdirSync(keys);
  writeFileSync(key, '');
  chmodSync(folder, 0o750);
  chmodSync(keys, 0o701);
  chmodSync(key, 0o640);
  expect(() => refuseOpenModes(folder)).toThrow(
    expect.objectContaining({
      code: 'usage',
      hint: `run: chmod 700 ${folder} && chmod 700 ${keys} && chmod 600 ${key}`,
    }),
  );
});
