import { AppError } from '../core/errors.ts';
import { listCheckpointFiles, readCheckpointFile, sizeOfFile } from './checkpoint.ts';
import { entriesPath, ledgerFolder, readLines } from './entry-file.ts';
import { inclusionProof } from './merkle-proof.ts';
import { leafHash } from './merkle.ts';
import { proofText } from './proof.ts';

/**
 * An entry's line, and the text of the proof that it is in the ledger, by the first checkpoint that covers it: the same
 * each time. Throws `storage` when none does, or when the ledger cannot be read.
 */
export function proveEntry(dataDir: string, seq: number): { line: string; proof: string } {
  const folder = ledgerFolder(dataDir);
  const size = listCheckpointFiles(folder)
    .map(sizeOfFile)
    .find((covered) => covered !== undefined && covered > seq);
  const checkpoint = size === undefined ? undefined : readCheckpointFile(folder, size);
  const leaves: Buffer[] = [];
  let line: string | undefined;
  for (const entry of readLines(entriesPath(folder))) {
    if (leaves.length === seq) line = entry.toString('utf8');
    leaves.push(leafHash(entry));
    if (leaves.length === size) break;
  }
  if (checkpoint === undefined || line === undefined || leaves.length !== size)
    throw new AppError(`no checkpoint of the ledger covers entry ${seq}`, {
      code: 'storage',
      hint: 'run `analytics-mirror reconcile`, which signs what is new; or `analytics-mirror audit verify`',
    });
  return { line, proof: proofText({ index: seq, hashes: inclusionProof(leaves, seq), checkpoint }) };
}
