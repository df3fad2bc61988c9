import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sha256, sha256File } from '../../src/core/digest.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';

// FIPS 180-4, examples of SHA-256.
const ofNothing = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const ofAbc = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
const ofMillionA = 'cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0';

test('texts have the digests of the standard', () => {
  expect(sha256('')).toBe(ofNothing);
  expect(sha256('abc')).toBe(ofAbc);
});

test('files have the digests of the standard, over several reads too', async () => {
  const path = join(temporaryFolder(), 'file');
  writeFileSync(path, '');
  expect(await sha256File(path)).toBe(ofNothing);
  writeFileSync(path, 'a'.repeat(1_000_000));
  expect(await sha256File(path)).toBe(ofMillionA);
});

test('a missing file is the system’s own error', async () => {
  await expect(sha256File(join(temporaryFolder(), 'missing'))).rejects.toMatchObject({ code: 'ENOENT' });
});
