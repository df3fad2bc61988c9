import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { writeProofVectors } from './write-proof-vectors.ts';
import { writeVectors } from './write-vectors.ts';

const verifier = fileURLToPath(new URL('../../docs/verifier', import.meta.url));

function contentOf(folder: string): Record<string, string> {
  const files = globSync('**/*.{txt,jsonl,json,tst}', { cwd: folder }).toSorted();
  return Object.fromEntries(files.map((file) => [file, readFileSync(join(folder, file), 'latin1')]));
}

it.each([
  ['vectors', 'write-vectors.ts', writeVectors],
  ['proofs', 'write-proof-vectors.ts', writeProofVectors],
])('the published %s are those that `node test/ledger/%s` writes', (name, _script, write) => {
  const folder = join(temporaryFolder(), name);
  write(folder);
  expect(contentOf(folder)).toEqual(contentOf(join(verifier, name)));
});
