import { expect } from 'vitest';
import { consistencyProof, rootOf } from '../../src/ledger/merkle-proof.ts';
import { inclusionProof } from './inclusion-proof.ts';
import { leafHash } from '../../src/ledger/merkle.ts';
import { isConsistent, isIncluded } from './proved.ts';

/** The sizes up to `sizeMax`, each with the tree of that size. */
function treesUpTo(sizeMax: number): { size: number; root: Buffer; leaves: Buffer[] }[] {
  const all = Array.from({ length: sizeMax }, (_, index) => leafHash(Buffer.from(String(index))));
  return Array.from({ length: sizeMax + 1 }, (_, size) => {
    const some = all.slice(0, size);
    return { size, root: rootOf(some), leaves: some };
  });
}

function flipped(hash: Buffer): Buffer {
  const other = Buffer.from(hash);
  other[7] = (other[7] ?? 0) ^ 4;
  return other;
}

/** All proofs that differ from a proof in one hash, or in their length. */
function spoilt(proof: readonly Buffer[]): Buffer[][] {
  return [
    [...proof, Buffer.alloc(32)],
    ...(proof.length > 0 ? [proof.slice(1), proof.slice(0, -1)] : []),
    ...proof.map((hash, at) => proof.with(at, flipped(hash))),
  ];
}

/** Checks that each leaf of all trees up to a size is proved to be where it is, and only there; how many there were. */
export function checkInclusions(sizeMax: number): number {
  let checked = 0;
  for (const tree of treesUpTo(sizeMax))
    for (const [index, leaf] of tree.leaves.entries()) {
      checked += 1;
      const proof = inclusionProof(tree.leaves, index);
      const isProved = (claim: Partial<Parameters<typeof isIncluded>[0]>): boolean =>
        isIncluded({ index, leaf, proof, ...claim }, tree);
      if (!isProved({})) expect.fail(`leaf ${index} of ${tree.size}`);
      if (isProved({ leaf: flipped(leaf) })) expect.fail(`another leaf ${index} of ${tree.size}`);
      if (isProved({ index: index + 1 })) expect.fail(`leaf ${index} of ${tree.size} elsewhere`);
      if (spoilt(proof).some((bad) => isProved({ proof: bad }))) expect.fail(`a bad proof of ${index} of ${tree.size}`);
    }
  return checked;
}

/** Checks that each tree up to a size is proved to extend each smaller one, and nothing else; how many pairs there were. */
export function checkExtensions(sizeMax: number): number {
  const trees = treesUpTo(sizeMax);
  let checked = 0;
  for (const after of trees)
    for (const before of trees.slice(0, after.size + 1)) {
      checked += 1;
      const pair = `${before.size} to ${after.size}`;
      const proof = consistencyProof(after.leaves, before.size);
      if (!isConsistent(before, after, proof)) expect.fail(pair);
      if (isConsistent({ ...before, root: flipped(before.root) }, after, proof)) expect.fail(`another ${pair}`);
      // The empty tree says nothing of what comes after it.
      if (before.size > 0 && isConsistent(before, { ...after, root: flipped(after.root) }, proof))
        expect.fail(`${pair}, another`);
      if (before.size < after.size && isConsistent(after, before, proof)) expect.fail(`${pair}, backwards`);
      if (spoilt(proof).some((bad) => isConsistent(before, after, bad))) expect.fail(`a bad proof of ${pair}`);
    }
  return checked;
}
