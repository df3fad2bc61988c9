import { createHash, hash } from 'node:crypto';

const leafPrefix = Buffer.of(0);
const nodePrefix = Buffer.of(1);

/** The hash of a leaf (RFC 6962 section 2.1): SHA-256 of a zero byte and the leaf's bytes. */
export function leafHash(leaf: Uint8Array): Buffer {
  // A damaged line can be very long: it is not copied. Else, an object for each hash would cost more.
  if (leaf.length > 2 ** 20) return createHash('sha256').update(leafPrefix).update(leaf).digest();
  return hash('sha256', Buffer.concat([leafPrefix, leaf]), 'buffer');
}

/** The hash of a node (RFC 6962 section 2.1): SHA-256 of a byte of one and the hashes of its two children. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  return hash('sha256', Buffer.concat([nodePrefix, left, right]), 'buffer');
}

/** A Merkle tree that only grows, and holds no more of itself than its root needs: one hash for each set bit of its size. */
export type CompactTree = {
  append(leaf: Buffer): void;
  size(): number;
  rootHash(): Buffer;
  /** The root hash as it is now, computed when it is asked for. */
  rootHashLater(): () => Buffer;
};

/** An empty tree of leaf hashes. */
export function compactTree(): CompactTree {
  let size = 0;
  /** Roots of the perfect subtrees that make up the tree, largest first. */
  const peaks: Buffer[] = [];
  const rootOf = (all: readonly Buffer[]): Buffer =>
    all.length === 0 ? hash('sha256', '', 'buffer') : all.reduceRight((right, left) => nodeHash(left, right));
  return {
    append: (leaf) => {
      let peak = leaf;
      for (let rest = size; rest % 2 === 1; rest = Math.floor(rest / 2)) {
        const left = peaks.pop();
        if (left) peak = nodeHash(left, peak);
      }
      peaks.push(peak);
      size += 1;
    },
    size: () => size,
    rootHash: () => rootOf(peaks),
    rootHashLater: () => {
      const now = [...peaks];
      return () => rootOf(now);
    },
  };
}
