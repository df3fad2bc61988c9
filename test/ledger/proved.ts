import { readCheckpoint, type Checkpoint } from '../../src/ledger/checkpoint.ts';
import { rootOf } from '../../src/ledger/merkle-proof.ts';
import { leafHash, nodeHash } from '../../src/ledger/merkle.ts';
import type { Proof } from '../../src/ledger/proof.ts';

// A reader of the program's proofs that shares nothing with the verifier: each checks what the program writes.

/**
 * The checkpoint, its signatures not verified, of a tree that has an entry's line (without its newline) where the proof
 * says; undefined when it has not.
 */
export function checkpointProving(line: Uint8Array, proof: Proof): Checkpoint | undefined {
  const checkpoint = readCheckpoint(proof.checkpoint);
  if (!checkpoint) return undefined;
  const claim = { index: proof.index, leaf: leafHash(line), proof: proof.hashes };
  return isIncluded(claim, checkpoint) ? checkpoint : undefined;
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
