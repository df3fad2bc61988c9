import { spawnSync } from 'node:child_process';
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadSettings } from '../../src/config/load-settings.ts';
import { problemOf } from '../../src/config/private-file.ts';
import { shellWord } from '../../src/core/words.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';

const keyFrom = (file: string): string | null => loadSettings({ MIRROR_API_KEY_FILE: file }).apiKey;

function secretFile(text = 'phx_key', mode = 0o600): string {
  const path = join(temporaryFolder(), 'key');
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

test('a key is read through links, as Kubernetes mounts it', () => {
  const folder = temporaryFolder();
  symlinkSync(secretFile('phx_key\n', 0o400), join(folder, '..data'));
  symlinkSync('..data', join(folder, 'api-key'));
  expect(keyFrom(join(folder, 'api-key'))).toBe('phx_key');
});

test.runIf(process.platform !== 'win32')('a pipe and a device are refused at once, and not read', () => {
  const pipe = join(temporaryFolder(), 'pipe');
  expect(spawnSync('mkfifo', ['-m', '600', pipe]).status).toBe(0);
  for (const path of [pipe, '/dev/zero', temporaryFolder()])
    expect(() => keyFrom(path)).toThrow(
      expect.objectContaining({
        code: 'usage',
        message: `MIRROR_API_KEY_FILE: ${path} is no regular file`,
        hint: 'name a file that holds the secret',
      }),
    );
});

test('a large file is refused', () => {
  expect(() => keyFrom(secretFile('x'.repeat(16_385)))).toThrow(/has more than 16384 bytes$/);
  expect(keyFrom(secretFile('x'.repeat(16_384)))).toHaveLength(16_384);
});

test.runIf(process.platform !== 'win32')('a file that everybody may change is refused with the repair', () => {
  const path = secretFile('phx_key', 0o666);
  expect(() => keyFrom(path)).toThrow(
    expect.objectContaining({
      code: 'usage',
      message: `MIRROR_API_KEY_FILE: ${path} is open to other users`,
      hint: `run: chmod 600 ${shellWord(path)}`,
    }),
  );
  chmodSync(path, 0o600);
  expect(keyFrom(path)).toBe('phx_key');
});

const us = 1000;
const open = 'is open to other users';
test.runIf(process.platform !== 'win32').each([
  ['our own file', { uid: us, mode: 0o600 }, false, undefined],
  ['our own file that our group may read', { uid: us, mode: 0o640 }, false, open],
  ['our own file that everybody may read, in memory', { uid: us, mode: 0o644 }, true, open],
  ["root's file that root's group may read: systemd, Kubernetes", { uid: 0, mode: 0o440 }, false, undefined],
  ["root's file that its group may change", { uid: 0, mode: 0o660 }, false, open],
  ["root's file that everybody may read, on a disk", { uid: 0, mode: 0o444 }, false, open],
  [
    "root's file that everybody may read, in memory: Docker Swarm, Kubernetes",
    { uid: 0, mode: 0o444 },
    true,
    undefined,
  ],
  ["root's file that everybody may change, in memory", { uid: 0, mode: 0o666 }, true, open],
  ["another user's file", { uid: 1001, mode: 0o444 }, true, 'belongs to another user'],
])('as the place of a secret: %s', (_what, { uid, mode }, isInMemory, found) => {
  const stat = { isFile: () => true, size: 40, uid, mode: 0o100000 | mode };
  expect(problemOf(stat, { uid: us, isInMemory })?.found).toBe(found);
});

test('a file that is not ours is given to us', () => {
  const stat = { isFile: () => true, size: 40, uid: 1001, mode: 0o100400 };
  expect(problemOf(stat, { uid: us, isInMemory: false })?.fix('/k')).toBe('run: chown 1000 /k && chmod 400 /k');
});
