import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { freshFolder } from '../mirror/open-test-mirror.ts';

const child = fileURLToPath(new URL('make-file-child.ts', import.meta.url));

test('a file of a warehouse that ended in the middle of being made is made by the next load', () => {
  const folder = freshFolder();
  const file = join(folder, 'warehouse.duckdb');
  /** No file of the process can be longer than so many blocks of 512 bytes. */
  const open = (blocks: string): number | null =>
    spawnSync('sh', ['-c', `ulimit -f ${blocks} && exec "$@"`, 'sh', process.execPath, child, folder, file]).status;
  for (const blocks of ['0', '8', '16']) {
    expect(open(blocks)).not.toBe(0);
    expect(readdirSync(folder)).toEqual([]);
  }
  expect(open('unlimited')).toBe(0);
});
