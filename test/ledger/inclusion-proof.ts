import { inclusionProofsIn } from '../../src/ledger/merkle-proof.ts';

/** The hashes that lead from leaves to the root, of a tree whose roots nobody has kept. */
export function inclusionProofs(leaves: readonly Buffer[], indices: readonly number[]): Buffer[][] {
  const leaf = (index: number): Buffer => leaves[index] ?? Buffer.alloc(0);
  return inclusionProofsIn({ size: leaves.length, leaf, roots: new Map() }, indices);
}

/** The same for one leaf. */
export function inclusionProof(leaves: readonly Buffer[], index: number): Buffer[] {
  return inclusionProofs(leaves, [index])[0] ?? [];
}
