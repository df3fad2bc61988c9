import { compactTree, nodeHash } from './merkle.ts';

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

/** Whether a leaf hash stands at an index of the tree with that root (RFC 9162 section 2.1.3.2). */
export function isIncluded(
  { index, leaf, proof }: { index: number; leaf: Buffer; proof: readonly Buffer[] },
  tree: { size: number; root: Buffer },
): boolean {
  if (index < 0 || index >= tree.size) return false;
  let node = index;
  let last = tree.size - 1;
  let root = leaf;
  for (const sibling of proof) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      root = nodeHash(sibling, root);
      // A last node that is no right child has no sibling on its level: its hash is its parent's.
      while (node % 2 === 0 && node !== 0) [node, last] = [half(node), half(last)];
    } else root = nodeHash(root, sibling);
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && root.equals(tree.root);
}

/** Whether a tree only had leaves added to it to become another (RFC 9162 section 2.1.4.2). */
export function isConsistent(
  before: { size: number; root: Buffer },
  after: { size: number; root: Buffer },
  proof: readonly Buffer[],
): boolean {
  if (before.size > after.size) return false;
  if (before.size === 0) return proof.length === 0 && before.root.equals(rootOf([]));
  if (before.size === after.size) return proof.length === 0 && before.root.equals(after.root);
  let node = before.size - 1;
  let last = after.size - 1;
  while (node % 2 === 1) [node, last] = [half(node), half(last)];
  // The old tree is one perfect subtree of the new one: its root starts both climbs, and is not sent.
  const [first, ...rest] = node === 0 ? [before.root, ...proof] : proof;
  if (!first) return false;
  let oldRoot = first;
  let newRoot = first;
  for (const sibling of rest) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      oldRoot = nodeHash(sibling, oldRoot);
      newRoot = nodeHash(sibling, newRoot);
      while (node % 2 === 0 && node !== 0) [node, last] = [half(node), half(last)];
    } else newRoot = nodeHash(newRoot, sibling);
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && oldRoot.equals(before.root) && newRoot.equals(after.root);
}

// Not a shift: those cut to 32 bits.
function half(value: number): number {
  return Math.floor(value / 2);
}
