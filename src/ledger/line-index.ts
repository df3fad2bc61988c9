import { readSync } from 'node:fs';
import { inclusionProofsIn } from './merkle-proof.ts';
import { openFile } from '../core/open-file.ts';

/** Where the lines of the ledger's file lie, and what they hash to: 40 bytes a line. */
export type LineIndex = {
  /** Notes the next line: its leaf hash, and how many bytes it has without its newline. */
  add(leaf: Buffer, bytes: number): void;
  /** The leaf hashes of the first `size` lines. */
  leaves(size: number): Buffer[];
  /** The inclusion proofs of lines in the tree of the first `size` lines, in their order. */
  proofs(size: number, lines: readonly number[]): Buffer[][];
  /** A line, without its newline, as it stands in the file now. Throws the system's error. */
  read(line: number): string;
};

const hashBytes = 32;

/** An empty index of the lines of a file. */
export function lineIndex(path: string): LineIndex {
  let hashes = Buffer.alloc(1024 * hashBytes);
  let ends = new Float64Array(1024);
  let size = 0;
  const roots = new Map<string, Buffer>();
  const leaf = (at: number): Buffer => hashes.subarray(at * hashBytes, (at + 1) * hashBytes);
  return {
    add: (leaf, bytes) => {
      if (size === ends.length) {
        hashes = Buffer.concat([hashes, hashes]);
        const longer = new Float64Array(2 * size);
        longer.set(ends);
        ends = longer;
      }
      hashes.set(leaf, size * hashBytes);
      ends[size] = startOf(size) + bytes;
      size += 1;
    },
    leaves: (count) => Array.from({ length: Math.min(count, size) }, (_, at) => leaf(at)),
    proofs: (count, lines) => inclusionProofsIn({ size: Math.min(count, size), leaf, roots }, lines),
    read: (line) => {
      const bytes = Buffer.alloc((ends[line] ?? 0) - startOf(line));
      using file = openFile(path);
      readSync(file.descriptor, bytes, 0, bytes.length, startOf(line));
      return bytes.toString('utf8');
    },
  };

  function startOf(line: number): number {
    return line === 0 ? 0 : (ends[line - 1] ?? 0) + 1;
  }
}
