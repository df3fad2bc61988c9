import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { isTrusted, readCertificates, readTimeStamp, type TimeStamp } from '../../docs/verifier/verify.mjs';
import { timeStampQuery, tokenOfReply } from '../../src/anchor/time-stamp.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { policyText } from '../ledger/anchored-vectors.ts';
import { changedAndRead } from './changed-and-read.ts';
import { testKey, timeStampReply, timeStampToken, type TokenShape } from './time-stamp-authority.ts';

const atMs = Date.UTC(2026, 10, 20, 12, 5);
const goodVectors = fileURLToPath(new URL('../../docs/verifier/vectors/good', import.meta.url));

const shapes: TokenShape[] = [
  {},
  { key: 'authority-ec' },
  { digest: 'sha512' },
  { key: 'authority-ec', digest: 'sha384' },
  { key: 'authority-p384', digest: 'sha384' },
  { key: 'authority-p521', digest: 'sha512' },
  { key: 'authority-other-curve' },
  { names: 'sha1' },
  { carries: ['authority-root.pem'] },
  { accuracy: '3c' },
];

describe('a time stamp', () => {
  it.each(shapes)('%j is read', (shape) => {
    const token = timeStampToken('text\n', atMs, shape);
    expect(readTimeStamp(token)).toMatchObject({ imprint: hash('sha256', 'text\n'), time: atMs / 1000 });
  });

  it("of OpenSSL's own authority is read", () => {
    const token = readFileSync(new URL('keys/openssl.tst', import.meta.url));
    expect(readTimeStamp(token)).toMatchObject({ time: Date.UTC(2026, 10, 22, 15, 14, 32) / 1000 });
  });

  it.each<TokenShape>([
    { isForged: true },
    { names: 'nothing' },
    { names: 'another' },
    { certificate: 'authority-loose' },
    { accuracy: '3d' },
    { accuracy: '0100' },
    { key: 'authority-ec', certificate: 'authority' },
  ])('%j is none', (shape) => {
    expect(readTimeStamp(timeStampToken('text\n', atMs, shape))).toBeUndefined();
  });

  it.each(shapes.slice(0, 2))('%j is none after a change of a byte', (shape) => {
    expect(changedAndRead(timeStampToken('text\n', atMs, shape), 29)).toEqual([]);
  });

  it('is trusted by the certificate or by the one that issued it, while they are valid', () => {
    const stamp = (time: number, shape?: TokenShape): TimeStamp => {
      const read = readTimeStamp(timeStampToken('text\n', time, shape));
      if (!read) throw new Error('no time stamp');
      return read;
    };
    const [root, leaf, other] = ['authority-root.pem', 'authority.pem', 'authority-ec.pem'].map((file) =>
      readCertificates(testKey(file)),
    );
    expect(isTrusted(stamp(atMs), root ?? [])).toBe(true);
    expect(isTrusted(stamp(atMs), leaf ?? [])).toBe(true);
    expect(isTrusted(stamp(atMs), [...(other ?? []), ...(root ?? [])])).toBe(true);
    expect(isTrusted(stamp(atMs), other ?? [])).toBe(false);
    expect(isTrusted(stamp(Date.UTC(2025, 0, 1)), root ?? [])).toBe(false);
    // That the token carries the root makes nobody trust it.
    expect(isTrusted(stamp(atMs, { carries: ['authority-root.pem'] }), other ?? [])).toBe(false);
  });

  it('is trusted through certificates that it carries, if each of them may issue others', () => {
    const through = (shape: TokenShape, trusted: string): boolean | undefined => {
      const stamp = readTimeStamp(timeStampToken('text\n', atMs, shape));
      return stamp && isTrusted(stamp, readCertificates(testKey(trusted)));
    };
    const below = { certificate: 'authority-below', carries: ['authority-between.pem'] } as const;
    expect(through(below, 'authority-root.pem')).toBe(true);
    expect(through(below, 'authority-between.pem')).toBe(true);
    expect(through({ certificate: 'authority-below' }, 'authority-between.pem')).toBe(true);
    expect(through({ certificate: 'authority-below' }, 'authority-root.pem')).toBe(false);
    expect(through(below, 'authority.pem')).toBe(false);
    const rogue = { key: 'authority-ec', certificate: 'authority-rogue', carries: ['authority.pem'] } as const;
    expect(through(rogue, 'authority-root.pem')).toBe(false);
    expect(through(rogue, 'authority.pem')).toBe(false);
  });

  it.each<[string, boolean, string, string[], string?]>([
    ['has as many between them as it allows', true, 'near', ['above']],
    ['has more between them than it allows', false, 'far', ['above', 'further']],
    ['limits names', false, 'under-named', ['named']],
    ['has a critical extension that nobody knows', false, 'critical', []],
    ['was signed by SHA-1', false, 'sha1', []],
    ['was signed by a key of 1,024 bits', false, 'under-short', [], 'chain-short.pem'],
  ])('whose chain %s is trusted: %s', (_what, isGood, leaf, between, root = 'authority-root.pem') => {
    const carries = between.map((name) => `chain-${name}.pem`);
    const token = timeStampToken('text\n', Date.UTC(2030, 0, 1), { certificate: `chain-${leaf}`, carries });
    const stamp = readTimeStamp(token);
    expect(stamp && isTrusted(stamp, readCertificates(testKey(root)))).toBe(isGood);
    // Whoever trusts the certificate itself asks for no chain.
    const isOddItself = leaf === 'critical';
    expect(stamp && isTrusted(stamp, readCertificates(testKey(`chain-${leaf}.pem`)))).toBe(!isOddItself);
  });

  it('is asked for and taken out of the reply', () => {
    const nonce = Buffer.from('7fffffffffffff01', 'hex');
    const reply = timeStampReply(timeStampQuery(hash('sha256', 'text\n', 'buffer'), nonce), atMs);
    const token = tokenOfReply(reply);
    expect(readTimeStamp(token ?? Buffer.alloc(0))).toMatchObject({ imprint: hash('sha256', 'text\n'), nonce });
    expect(tokenOfReply(timeStampReply(Buffer.from('3003020101', 'hex'), atMs))).toBeUndefined();
    expect(tokenOfReply(Buffer.from('<html>'))).toBeUndefined();
  });
});

describe('a policy', () => {
  it.each<[string, string | Record<string, unknown>]>([
    ['of another version', { policy: 'analytics-mirror/anchor-policy@2' }],
    ['with an unknown field', { max_ages: 1 }],
    ['without an age', { max_age_seconds: undefined }],
    ['that needs nothing', { time_stamps: { needed: 0, authorities: [] }, witnesses: { needed: 0, keys: [] } }],
    ['that needs more than it names', { witnesses: { needed: 2, keys: [] } }],
    ['with a certificate that is none', { time_stamps: { needed: 1, authorities: ['x'] } }],
    ['with a key that is no witness', { witnesses: { needed: 1, keys: ['a+00000000+AQ=='] } }],
    ['with another key of the ledger', { public_key: 'x' }],
    ['that is no JSON', '{'],
  ])('%s is refused', (_what, changes) => {
    const policy = typeof changes === 'string' ? changes : policyText(goodVectors, changes);
    expect(() => verifyLedger({ folder: goodVectors, policy })).toThrow(
      expect.objectContaining({ code: 'usage', message: expect.stringMatching(/policy|witness|authorities/) }),
    );
  });
});
