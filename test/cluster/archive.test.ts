import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { listBelow, packFiles, unpackFiles } from '../../src/cluster/archive.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';

const files: Readonly<Record<string, string>> = {
  'keys/box.key': 'key',
  'keys/deep/empty': '',
  'restore.key': 'seven bytes',
};

/** A folder with these files, and others that no archive has, and the bytes of its archive. */
async function packed(): Promise<Buffer> {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'keys', 'deep'), { recursive: true });
  for (const [path, text] of Object.entries({ ...files, other: 'left out' })) writeFileSync(join(folder, path), text);
  return buffer(packFiles(listBelow(folder, ['restore.key', 'keys', 'missing'])));
}

/** Bytes in pieces of a size. */
async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
}

test('an archive has the files of the named folders, whatever the pieces are in which it is read', async () => {
  const bytes = await packed();
  for (const size of [1, 3, 7, bytes.length]) {
    const folder = temporaryFolder();
    await unpackFiles(inPieces(bytes, size), folder);
    const found = listBelow(folder, ['restore.key', 'keys', 'other']).map(({ path, from }) => [
      path,
      readFileSync(from, 'utf8'),
    ]);
    expect(Object.fromEntries(found)).toEqual(files);
  }
});

test('an archive that ends at any byte before its last, or goes on behind its files, is refused', async () => {
  const bytes = await packed();
  for (let end = 0; end < bytes.length; end += 1)
    await expect(unpackFiles(inPieces(bytes.subarray(0, end), 5), temporaryFolder())).rejects.toThrow('ends too early');
  for (const size of [1, bytes.length + 1])
    await expect(
      unpackFiles(inPieces(Buffer.concat([bytes, Buffer.from('x')]), size), temporaryFolder()),
    ).rejects.toThrow('goes on behind');
});
