import {
  isCheckpointSigned,
  listCheckpointSizes,
  readCheckpoint,
  readCheckpointFile,
  readTimeStampFiles,
} from './checkpoint.ts';
import type { LedgerReader } from './ledger.ts';
import { proofText } from './proof.ts';

/** The line of an entry, and the text of the proof that it is in the ledger (https://c2sp.org/tlog-proof). */
export type ProvedEntry = { line: string; proof: string };

/**
 * The entries of these numbers, in their order, each proved by the checkpoint of a size. Where none is given: by the first one
 * that has an anchor outside and covers it, and by the newest where none has; one that the key of its time has not signed proves
 * nothing, and is passed over. Those that no checkpoint covers are left out. `timeStamps`: the tokens over these checkpoints.
 * Throws `storage` when the ledger cannot be read.
 */
export function proveEntries(
  folder: string,
  { lines, signed, rotations }: Pick<LedgerReader, 'lines' | 'signed' | 'rotations'>,
  wanted: readonly number[],
  ofSize?: number,
): { entries: ProvedEntry[]; timeStamps: Buffer[] } {
  // There can be thousands: they are not listed where one is named.
  const newest = ofSize ?? signed();
  const sizes = ofSize === undefined ? listCheckpointSizes(folder).filter((size) => size <= newest) : [ofSize];
  const stamps = readTimeStampFiles(folder).map(({ file, token }) => ({ size: Number(file.split('-')[0]), token }));
  const isStamped = new Set(stamps.map(({ size }) => size));
  const notes = new Map(sizes.map((size) => [size, readCheckpointFile(folder, size) ?? '']));
  const isCosigned = (note: string | undefined): boolean =>
    (readCheckpoint(note ?? '')?.note.signatures.length ?? 0) > 1;
  const anchored = sizes.filter((size) => isStamped.has(size) || isCosigned(notes.get(size)));

  const indicesOf = new Map<number, number[]>();
  for (const index of wanted.filter((seq) => seq < newest)) {
    const size = ofSize ?? anchored.find((at) => at > index && isCheckpointSigned(folder, rotations(), at)) ?? newest;
    indicesOf.set(size, [...(indicesOf.get(size) ?? []), index]);
  }
  const proofs = new Map<number, string>();
  for (const [size, indices] of indicesOf)
    for (const [at, hashes] of lines.proofs(size, indices).entries()) {
      const index = indices[at] ?? 0;
      proofs.set(index, proofText({ index, hashes, checkpoint: notes.get(size) ?? '' }));
    }
  const entries = wanted.flatMap((index) => {
    const proof = proofs.get(index);
    return proof === undefined ? [] : [{ line: lines.read(index), proof }];
  });
  const timeStamps = stamps.flatMap(({ size, token }) => (token && indicesOf.has(size) ? [token] : []));
  return { entries, timeStamps };
}
