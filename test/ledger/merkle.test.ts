import { describe, expect, it } from 'vitest';
import { consistencyProof, rootOf } from '../../src/ledger/merkle-proof.ts';
import { inclusionProof } from './inclusion-proof.ts';
import { leafHash } from '../../src/ledger/merkle.ts';
import { checkExtensions, checkInclusions } from './merkle-proofs.ts';
import { isConsistent, isIncluded } from './proved.ts';

// The test vectors of the reference implementation of Certificate Transparency (merkletree/merkle_tree_test.cc).
const inputs = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'];
const roots = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];
const leaves = inputs.map((input) => leafHash(Buffer.from(input, 'hex')));
const hexOf = (hashes: readonly Buffer[]): string[] => hashes.map((hash) => hash.toString('hex'));

describe('the published test vectors', () => {
  it('roots', () => {
    expect(roots.map((_root, size) => rootOf(leaves.slice(0, size)).toString('hex'))).toEqual(roots);
  });

  it('inclusion', () => {
    expect(hexOf(inclusionProof(leaves, 0))).toEqual([
      '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
    ]);
    expect(hexOf(inclusionProof(leaves, 5))).toEqual([
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ]);
  });

  it('consistency', () => {
    expect(hexOf(consistencyProof(leaves, 1))).toEqual([
      '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
    ]);
    expect(hexOf(consistencyProof(leaves, 6))).toEqual([
      '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ]);
    expect(hexOf(consistencyProof(leaves.slice(0, 5), 2))).toEqual([
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
    ]);
  });

  it('no proofs of what is not there', () => {
    for (const index of [-1, 8, 0.5]) expect(() => inclusionProof(leaves, index)).toThrow(RangeError);
    for (const size of [-1, 9, 0.5]) expect(() => consistencyProof(leaves, size)).toThrow(RangeError);
    const [leaf = Buffer.alloc(32)] = leaves;
    for (const index of [-1, 8]) expect(isIncluded({ index, leaf, proof: [] }, { size: 8, root: leaf })).toBe(false);
    expect(isConsistent({ size: 1, root: leaf }, { size: 8, root: leaf }, [])).toBe(false);
  });
});

describe('proofs of all trees of up to 64 leaves', () => {
  it('each leaf is proved to be where it is, and only there', () => {
    expect(checkInclusions(64)).toBe(2080);
  });

  it('each tree is proved to extend each smaller one, and nothing else', () => {
    expect(checkExtensions(64)).toBe(2145);
  });
});
