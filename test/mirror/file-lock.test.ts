import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { isLocked, lockFile } from '../../src/mirror/file-lock.ts';
import { freshFolder } from './open-test-mirror.ts';

const locking = `import { lockFile } from ${JSON.stringify(new URL('../../src/mirror/file-lock.ts', import.meta.url).href)};
console.log(lockFile(process.argv[1]) ? 'locked' : 'refused');
setInterval(() => undefined, 1000);`;

it('a lock is one process at a time, and ends with its process', async () => {
  const path = join(freshFolder(), 'folder', 'copy.lock');
  const held = lockFile(path);
  expect(lockFile(path)).toBeUndefined();
  expect(readdirSync(dirname(path))).toEqual(['copy.lock']);
  held?.[Symbol.dispose]();
  const child = spawn(process.execPath, ['--input-type=module', '--eval', locking, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  expect(said.toString()).toBe('locked\n');
  child.kill('SIGSTOP');
  expect(lockFile(path)).toBeUndefined();
  child.kill('SIGKILL');
  await once(child, 'exit');
  const again = lockFile(path);
  expect(again).toBeDefined();
  again?.[Symbol.dispose]();
  expect([statSync(path).size, statSync(path).mode & 0o777]).toEqual([0, 0o600]);
});

it('what cannot be locked is a fault of the disk, and not another process', () => {
  const folder = freshFolder();
  writeFileSync(join(folder, 'file'), '');
  expect(() => lockFile(join(folder, 'file', 'copy.lock'))).toThrow(expect.objectContaining({ code: 'storage' }));
});

it('a file of somebody else in its place is told as what it is', () => {
  const path = join(freshFolder(), 'mirror.lock');
  writeFileSync(path, 'not a database, and longer than the header of one: '.repeat(20));
  const other = { code: 'storage', message: `${path} is not the empty file whose lock this program takes` };
  expect(() => lockFile(path)).toThrow(expect.objectContaining(other));
  expect(() => isLocked(path)).toThrow(expect.objectContaining(other));
});
