import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/ledger.ts';
import { readVkeys } from '../../src/ledger/key-chain.ts';
import { isNoteSignedBy } from '../../src/ledger/note.ts';
import { readProof } from '../../src/ledger/proof.ts';
import { proveEntries, type ProvedEntry } from '../../src/ledger/prove-entries.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { anchor } from './anchored-vectors.ts';
import { lifeOf, writeSmallLedger } from './ledger-fixture.ts';
import { checkpointProving } from './proved.ts';

describe('the proofs of entries', () => {
  it('hold without the ledger, by the newest checkpoint, under the key of its time', () => {
    const dataDir = temporaryFolder();
    const ledger = writeSmallLedger(dataDir);
    const [, newKey] = readVkeys(readFileSync(join(dataDir, 'ledger/public-keys.txt'), 'utf8')) ?? [];
    expect(newKey).toBeDefined();
    const numbers = [...ledger.entries()].map(({ seq }) => seq);
    for (const wanted of [numbers, [0], [19], [3, 7, 12]]) {
      const { entries: proved } = proveEntries(join(dataDir, 'ledger'), readLedger(dataDir), wanted);
      expect(proved.map(({ line }) => (JSON.parse(line) as { seq: number }).seq)).toEqual(wanted);
      for (const { line, proof } of proved) {
        const read = readProof(proof);
        const checkpoint = read && checkpointProving(Buffer.from(line), read);
        expect(checkpoint?.size).toBe(20);
        expect(checkpoint && newKey && isNoteSignedBy(checkpoint.note, newKey)).toBe(true);
      }
    }
  });

  it('are none where nothing is signed yet', () => {
    const dataDir = temporaryFolder();
    writeSmallLedger(dataDir).append(lifeOf(2, 2).slice(0, 1).flat());
    expect(proveEntries(join(dataDir, 'ledger'), readLedger(dataDir), [19, 20]).entries).toHaveLength(1);
    expect(proveEntries(temporaryFolder(), readLedger(temporaryFolder()), [0]).entries).toEqual([]);
  });

  it('are by the first anchored checkpoint that covers the entry, with its time stamps', () => {
    const dataDir = temporaryFolder();
    writeSmallLedger(dataDir);
    anchor(join(dataDir, 'ledger'), { uncosigned: [5, 20], unstamped: [13, 20] });
    const { entries, timeStamps } = proveEntries(join(dataDir, 'ledger'), readLedger(dataDir), [4, 5, 12, 13, 19]);
    expect(entries.map(sizeOf)).toEqual([5, 13, 13, 20, 20]);
    expect(timeStamps).toHaveLength(1);
  });

  it('are under no checkpoint that its key has not signed', () => {
    const dataDir = temporaryFolder();
    writeSmallLedger(dataDir);
    anchor(join(dataDir, 'ledger'), { uncosigned: [5, 20], unstamped: [13, 20] });
    const anchored = join(dataDir, 'ledger/checkpoints/000000005.txt');
    const [, note = ''] = /^([^]*?\n\n)/.exec(readFileSync(anchored, 'utf8')) ?? [];
    const others = readFileSync(anchored, 'utf8').slice(note.length);
    // The first bytes of a signature say which key has made it.
    writeFileSync(anchored, note + others.replaceAll(/[^ ]{8}(?=\n)/g, 'AAAAAAA='));
    const { entries } = proveEntries(join(dataDir, 'ledger'), readLedger(dataDir), [4, 12]);
    expect(entries.map(sizeOf)).toEqual([13, 13]);
  });
});

/** The size of the checkpoint that proves an entry; undefined where it does not. */
function sizeOf({ line, proof }: ProvedEntry): number | undefined {
  const read = readProof(proof);
  return read && checkpointProving(Buffer.from(line), read)?.size;
}
