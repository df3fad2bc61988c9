import { listCheckpointFiles, readCheckpointFile, sizeOfFile } from './checkpoint.ts';
import { entriesPath, readLines } from './entry-file.ts';
import { inclusionProofs } from './merkle-proof.ts';
import { leafHash } from './merkle.ts';
import { proofText } from './proof.ts';

/** The line of an entry, and the text of the proof that it is in the ledger (https://c2sp.org/tlog-proof). */
export type ProvedEntry = { line: string; proof: string };

/**
 * The entries of these numbers, in their order, proved by the newest checkpoint of a ledger's folder. Those that it does not
 * cover are left out. Throws `storage` when the ledger cannot be read.
 */
export function proveEntries(folder: string, wanted: readonly number[]): ProvedEntry[] {
  const size = listCheckpointFiles(folder)
    .map(sizeOfFile)
    .findLast((covered) => covered !== undefined);
  const checkpoint = size === undefined ? undefined : readCheckpointFile(folder, size);
  if (size === undefined || checkpoint === undefined) return [];
  const isWanted = new Set(wanted);
  const leaves: Buffer[] = [];
  const lines = new Map<number, string>();
  for (const line of readLines(entriesPath(folder))) {
    if (leaves.length === size) break;
    if (isWanted.has(leaves.length)) lines.set(leaves.length, line.toString('utf8'));
    leaves.push(leafHash(line));
  }
  const proofs = inclusionProofs(leaves, [...lines.keys()]);
  return [...lines].map(([index, line], at) => ({
    line,
    proof: proofText({ index, hashes: proofs[at] ?? [], checkpoint }),
  }));
}
