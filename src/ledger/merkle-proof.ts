import { compactTree, nodeHash } from './merkle.ts';

/** The Merkle tree hash of leaf hashes (RFC 6962 section 2.1). */
export function rootOf(leaves: readonly Buffer[]): Buffer {
  const tree = compactTree();
  for (const leaf of leaves) tree.append(leaf);
  return tree.rootHash();
}

/** A tree by its leaf hashes, and the roots of its large perfect subtrees, which never change, as far as they were needed before. */
export type TreeOfLeaves = { size: number; leaf: (index: number) => Buffer; roots: Map<string, Buffer> };

/** Smaller subtrees are hashed anew each time: 256 hashes take a fifth of a millisecond. */
const keptMin = 256;

/**
 * The hashes that lead from each of some leaves to the root, lowest first (RFC 6962 section 2.1.1). The roots are kept: after the first
 * time, the work hardly depends on the tree's size. Throws for an index outside.
 */
export function inclusionProofsIn({ size, leaf, roots }: TreeOfLeaves, indices: readonly number[]): Buffer[][] {
  const outside = indices.find((index) => !Number.isSafeInteger(index) || index < 0 || index >= size);
  if (outside !== undefined) throw new RangeError(`no leaf ${outside} of ${size}`);
  const rootBetween = (from: number, to: number): Buffer => {
    const count = to - from;
    if (count === 1) return leaf(from);
    const split = splitOf(count);
    const name = `${from} ${to}`;
    const root = roots.get(name) ?? nodeHash(rootBetween(from, from + split), rootBetween(from + split, to));
    // A perfect subtree stays as it is, however the tree grows.
    if (count >= keptMin && count === 2 * split) roots.set(name, root);
    return root;
  };
  return indices.map((index) => {
    const proof: Buffer[] = [];
    let [from, to] = [0, size];
    while (to - from > 1) {
      const middle = from + splitOf(to - from);
      proof.push(index < middle ? rootBetween(middle, to) : rootBetween(from, middle));
      [from, to] = index < middle ? [from, middle] : [middle, to];
    }
    return proof.toReversed();
  });
}

/**
 * The hashes that show that the tree of the first `oldSize` leaves was only added to (RFC 6962 section 2.1.2); none for
 * the empty tree. Throws for a size outside.
 */
export function consistencyProof(leaves: readonly Buffer[], oldSize: number): Buffer[] {
  if (!Number.isSafeInteger(oldSize) || oldSize < 0 || oldSize > leaves.length)
    throw new RangeError(`no tree of ${oldSize} of ${leaves.length} leaves`);
  return oldSize === 0 ? [] : subproof(leaves, oldSize, true);
}

/** `isKnown`: whether the old root is the one of these very leaves, which the verifier has. */
function subproof(leaves: readonly Buffer[], oldSize: number, isKnown: boolean): Buffer[] {
  if (oldSize === leaves.length) return isKnown ? [] : [rootOf(leaves)];
  const split = splitOf(leaves.length);
  const [left, right] = [leaves.slice(0, split), leaves.slice(split)];
  return oldSize <= split
    ? [...subproof(left, oldSize, isKnown), rootOf(right)]
    : [...subproof(right, oldSize - split, false), rootOf(left)];
}

/** The largest power of two below a size of at least two. */
function splitOf(size: number): number {
  let split = 1;
  while (split * 2 < size) split *= 2;
  return split;
}
