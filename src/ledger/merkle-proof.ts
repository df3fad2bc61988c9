import { compactTree } from './merkle.ts';

/** The Merkle tree hash of leaf hashes (RFC 6962 section 2.1). */
export function rootOf(leaves: readonly Buffer[]): Buffer {
  const tree = compactTree();
  for (const leaf of leaves) tree.append(leaf);
  return tree.rootHash();
}

/** The hashes that lead from a leaf to the root, lowest first (RFC 6962 section 2.1.1). Throws for an index outside. */
export function inclusionProof(leaves: readonly Buffer[], index: number): Buffer[] {
  return inclusionProofs(leaves, [index])[0] ?? [];
}

/** The same for several leaves, in their order, with little more work than for one. */
export function inclusionProofs(leaves: readonly Buffer[], indices: readonly number[]): Buffer[][] {
  const outside = indices.find((index) => !Number.isSafeInteger(index) || index < 0 || index >= leaves.length);
  if (outside !== undefined) throw new RangeError(`no leaf ${outside} of ${leaves.length}`);
  if (leaves.length <= 1) return indices.map(() => []);
  const split = splitOf(leaves.length);
  const sides = [
    { own: leaves.slice(0, split), other: leaves.slice(split), from: 0 },
    { own: leaves.slice(split), other: leaves.slice(0, split), from: split },
  ].map(({ own, other, from }) => {
    const inside = indices.filter((index) => index >= from && index - from < own.length);
    if (inside.length === 0) return new Map<number, Buffer[]>();
    const sibling = rootOf(other);
    const below = inclusionProofs(
      own,
      inside.map((index) => index - from),
    );
    return new Map(inside.map((index, at) => [index, [...(below[at] ?? []), sibling]]));
  });
  return indices.map((index) => sides.map((side) => side.get(index)).find((proof) => proof !== undefined) ?? []);
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
