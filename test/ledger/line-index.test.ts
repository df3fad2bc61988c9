import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lineIndex } from '../../src/ledger/line-index.ts';
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
