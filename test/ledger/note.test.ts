import { describe, expect, it } from 'vitest';
import { checkpointText, readCheckpoint } from '../../src/ledger/checkpoint.ts';
import { rootOf } from '../../src/ledger/merkle-proof.ts';
import { inclusionProof } from './inclusion-proof.ts';
import { leafHash } from '../../src/ledger/merkle.ts';
import {
  isNoteSignedBy,
  privateKeyOf,
  publicKeyOf,
  readNote,
  readVkey,
  signNote,
  vkeyOf,
} from '../../src/ledger/note.ts';
import { proofText, readProof } from '../../src/ledger/proof.ts';
import { checkpointProving } from './proved.ts';

// The keys and the note of the tests of golang.org/x/mod/sumdb/note, the first implementation of signed notes.
const vkey = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
const seed = Buffer.from('AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz', 'base64').subarray(1);
const text = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const note = `${text}\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n`;

const signer = { name: 'PeterNeumann', privateKey: privateKeyOf(seed) };
const other = { name: 'PeterNeumann', privateKey: privateKeyOf(Buffer.alloc(32, 7)) };
const key = { name: 'PeterNeumann', publicKey: publicKeyOf(signer.privateKey) };

function isSigned(signedNote: string): boolean {
  const read = readNote(signedNote);
  return read !== undefined && isNoteSignedBy(read, key);
}

describe('a signed note', () => {
  it('is the published one', () => {
    expect(vkeyOf(key)).toBe(vkey);
    expect(readVkey(vkey)).toEqual(key);
    expect(signNote(text, signer)).toBe(note);
    expect(isSigned(note)).toBe(true);
  });

  it('may have signatures of others, but no bad one of its own', () => {
    const [, line = ''] = signNote(text, other).split('\n\n');
    expect(isSigned(`${note}${line}`)).toBe(true);
    expect(isSigned(signNote(text, other))).toBe(false);
    const bad = note.replace('x08go/ZJ', 'x08go/ZK');
    expect(isSigned(bad)).toBe(false);
    expect(isSigned(`${note}${bad.split('\n\n')[1] ?? ''}`)).toBe(false);
  });

  it('has one spelling', () => {
    for (let at = 0; at < Buffer.byteLength(note); at += 1)
      for (let bit = 0; bit < 8; bit += 1) {
        const bytes = Buffer.from(note);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
        if (isSigned(bytes.toString('utf8'))) expect.fail(`bit ${bit} of byte ${at}`);
      }
    for (const spelling of [`${note}\n`, note.slice(0, -1), note.replace('AM=', 'AM'), `${note}— x y\n`, ''])
      expect(isSigned(spelling)).toBe(false);
  });

  it('a vkey has one spelling', () => {
    for (const spelling of [`${vkey}=`, vkey.slice(0, -1), vkey.replace('c74f20a3', 'c74f20a4'), 'a+b+c', ''])
      expect(readVkey(spelling)).toBeUndefined();
  });
});

const lines = Array.from({ length: 11 }, (_, index) => Buffer.from(`line ${index}`));
const leaves = lines.map((line) => leafHash(line));
const checkpoint = checkpointText({ size: leaves.length, root: rootOf(leaves) }, signer);

describe('a checkpoint', () => {
  it('is a signed note of three lines', () => {
    expect(checkpoint.split('\n')).toEqual([
      'PeterNeumann',
      '11',
      rootOf(leaves).toString('base64'),
      '',
      expect.stringMatching(/^— PeterNeumann x08go/),
      '',
    ]);
    expect(readCheckpoint(checkpoint)).toMatchObject({ origin: 'PeterNeumann', size: 11, root: rootOf(leaves) });
    expect(isSigned(checkpoint)).toBe(true);
  });

  it.each([
    ['a leading zero', checkpoint.replace('\n11\n', '\n011\n')],
    ['a size that is none', checkpoint.replace('\n11\n', '\n-1\n')],
    ['a short root', checkpoint.replace(/\n11\n..../, '\n11\n')],
    ['an extension line', checkpoint.replace('\n\n', '\nmore\n\n')],
    ['no origin', checkpoint.replace('PeterNeumann\n', '\n')],
  ])('is none with %s', (_what, spelling) => {
    expect(spelling).not.toBe(checkpoint);
    expect(readCheckpoint(spelling)).toBeUndefined();
  });
});

describe('a proof as text', () => {
  const proof = { index: 9, hashes: inclusionProof(leaves, 9), checkpoint };
  const written = proofText(proof);

  it('proves an entry by itself', () => {
    expect(written.split('\n').slice(0, 4)).toEqual([
      'c2sp.org/tlog-proof@v1',
      'index 9',
      proof.hashes[0]?.toString('base64'),
      proof.hashes[1]?.toString('base64'),
    ]);
    const read = readProof(written);
    expect(read).toEqual(proof);
    if (!read) return;
    expect(checkpointProving(Buffer.from('line 9'), read)).toMatchObject({ size: 11 });
    expect(checkpointProving(Buffer.from('line 8'), read)).toBeUndefined();
    expect(checkpointProving(Buffer.from('line 9'), { ...read, index: 8 })).toBeUndefined();
    expect(checkpointProving(Buffer.from('line 9'), { ...read, checkpoint: 'x' })).toBeUndefined();
  });

  it('also the only entry of a ledger', () => {
    const only = {
      index: 0,
      hashes: [],
      checkpoint: checkpointText({ size: 1, root: rootOf(leaves.slice(0, 1)) }, signer),
    };
    const read = readProof(proofText(only));
    expect(read).toEqual(only);
    expect(read && checkpointProving(Buffer.from('line 0'), read)).toMatchObject({ size: 1 });
  });

  it.each([
    ['another header', written.replace('@v1', '@v2')],
    ['a leading zero', written.replace('index 9', 'index 09')],
    ['a short hash', written.replace(/\n....(.{40}\n)/, '\n$1')],
    ['no checkpoint', written.split('\n\n')[0] ?? ''],
  ])('is none with %s', (_what, spelling) => {
    expect(spelling).not.toBe(written);
    expect(readProof(spelling)).toBeUndefined();
  });
});
