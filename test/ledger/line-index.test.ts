import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lineIndex } from '../../src/ledger/line-index.ts';
import { inclusionProofs } from './inclusion-proof.ts';
import { leafHash } from '../../src/ledger/merkle.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';

it('every line is found where it lies, with its hash, however many there are', () => {
  const path = join(temporaryFolder(), 'lines');
  const lines = Array.from({ length: 5000 }, (_, n) => `${'é'.repeat(n % 7)}${n}`);
  writeFileSync(path, lines.slice(0, 4000).join('\n'));
  const index = lineIndex(path);
  for (const line of lines) index.add(leafHash(Buffer.from(line)), Buffer.byteLength(line));
  appendFileSync(path, `\n${lines.slice(4000).join('\n')}\n`);
  expect(lines.map((_line, n) => index.read(n))).toEqual(lines);
  expect(index.leaves(5000)).toEqual(lines.map((line) => leafHash(Buffer.from(line))));
  expect(index.leaves(3)).toHaveLength(3);
});

it('proves lines of a file that grows as if it had hashed all of them anew', () => {
  const index = lineIndex('nowhere');
  const leaves: Buffer[] = [];
  for (const size of [1, 2, 255, 256, 257, 511, 512, 768, 1024, 1500, 2048, 3001]) {
    while (leaves.length < size) {
      const leaf = leafHash(Buffer.from(`line ${leaves.length}`));
      leaves.push(leaf);
      index.add(leaf, 7);
    }
    for (const of of [size, Math.ceil(size / 2)]) {
      const wanted = [...new Set([0, 1, 255, 256, Math.floor(of / 3), of - 1])].filter((line) => line < of);
      expect(index.proofs(of, wanted)).toEqual(inclusionProofs(leaves.slice(0, of), wanted));
    }
  }
  expect(() => index.proofs(10, [10])).toThrow(RangeError);
});
