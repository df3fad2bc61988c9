import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readVkeys } from '../../src/ledger/key-chain.ts';
import { isNoteSignedBy } from '../../src/ledger/note.ts';
import { checkpointProving, readProof } from '../../src/ledger/proof.ts';
import { proveEntry } from '../../src/ledger/prove-entry.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { lifeOf, writeSmallLedger } from './ledger-fixture.ts';

describe('the proof of an entry', () => {
  it('holds for each one without the ledger, by the first checkpoint after it, under the key of its time', () => {
    const dataDir = temporaryFolder();
    const ledger = writeSmallLedger(dataDir);
    const [oldKey, newKey] = readVkeys(readFileSync(join(dataDir, 'ledger/public-keys.txt'), 'utf8')) ?? [];
    expect(newKey).toBeDefined();
    for (const { seq } of ledger.entries()) {
      const { line, proof } = proveEntry(dataDir, seq);
      expect(JSON.parse(line)).toMatchObject({ seq });
      const read = readProof(proof);
      const checkpoint = read && checkpointProving(Buffer.from(line), read);
      expect(checkpoint?.size).toBe([5, 13, 20].find((size) => size > seq));
      const key = (checkpoint?.size ?? 0) > 13 ? newKey : oldKey;
      expect(checkpoint && key && isNoteSignedBy(checkpoint.note, key)).toBe(true);
    }
  });

  it('is none where nothing is signed yet', () => {
    const dataDir = temporaryFolder();
    writeSmallLedger(dataDir).append(lifeOf(2, 2).slice(0, 1).flat());
    for (const seq of [20, 21])
      expect(() => proveEntry(dataDir, seq)).toThrow(`no checkpoint of the ledger covers entry ${seq}`);
  });
});
