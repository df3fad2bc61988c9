import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decryptText, keyPath, reasonMac } from '../../../src/core/secret-key.ts';
import { boxKeyName } from '../../../src/mirror/fence.ts';
import { authorisationMac, closeBox, newBox, openBox, subjectMac, type Box } from '../../../src/erasure/request/box.ts';
import { freshFolder } from '../../mirror/open-test-mirror.ts';

const id = randomUUID();
const box: Box = {
  ...newBox([{ kind: 'email', value: 'ann@x.example' }], {
    person_uuid: ['u1'],
    person_id: ['7'],
    distinct_id: ['änn "🦤"\u0000\ud800'],
    recording_id: [],
  }),
  values: ['{"a":1}', ''],
  memberships: [{ shortId: 's', recordingId: 'r' }],
  createdAt: '2026-11-20T12:00:00.123456Z',
};

function errorOf(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}

describe('a box', () => {
  it('opens as it was closed, and shows nothing of it meanwhile', () => {
    const dataDir = freshFolder();
    const closed = closeBox(dataDir, id, box);
    expect(openBox(dataDir, id, closed)).toEqual(box);
    expect(closed.toString('latin1')).not.toContain('ann@x');
    expect(closeBox(dataDir, id, box).equals(closed)).toBe(false);
  });

  it.each<[string, (closed: Buffer, dataDir: string) => { id?: string; closed?: Buffer } | void]>([
    ['under another request’s id', () => ({ id: randomUUID() })],
    ['with another key', (_closed, dataDir) => writeFileSync(keyPath(dataDir, 'box.key'), `${'ab'.repeat(32)}\n`)],
    ['without its key', (_closed, dataDir) => rmSync(keyPath(dataDir, 'box.key'))],
    ['when a bit of it is damaged', (closed) => ({ closed: closed.with(20, (closed[20] ?? 0) ^ 1) as Buffer })],
    ['when a bit of its nonce is damaged', (closed) => ({ closed: closed.with(0, (closed[0] ?? 0) ^ 1) as Buffer })],
    ['when it is cut off', (closed) => ({ closed: closed.subarray(0, -1) })],
    ['when nothing is left of it', () => ({ closed: Buffer.alloc(0) })],
  ])('does not open %s, and the error tells nothing of it', (_how, change) => {
    const dataDir = freshFolder();
    const closed = closeBox(dataDir, id, box);
    const changed = { id, closed, ...change(closed, dataDir) };
    const open = (): Box => openBox(dataDir, changed.id, Buffer.from(changed.closed));
    expect(open).toThrow(`the identifiers of request ${changed.id} cannot be decrypted`);
    expect(errorOf(open)).toMatchObject({ code: 'storage' });
    // The parser's own words would quote what was encrypted.
    expect(errorOf(open)).not.toHaveProperty('cause');
  });

  it('with a damaged key says which file that is', () => {
    const dataDir = freshFolder();
    const closed = closeBox(dataDir, id, box);
    writeFileSync(keyPath(dataDir, 'box.key'), 'ab');
    expect(() => openBox(dataDir, id, closed)).toThrow(/keys\/box\.key is damaged/);
  });
});

describe('what the ledger holds instead of a text', () => {
  const given = [
    { kind: 'uuid', value: 'u' },
    { kind: 'id', value: '1' },
  ] as const;

  it('is told only by whoever has the request’s own key', () => {
    const [one, other] = [newBox(box.given, box.identity), newBox(box.given, box.identity)];
    expect(subjectMac(one)).toMatch(/^[0-9a-f]{64}$/);
    expect(subjectMac(one)).toBe(subjectMac({ subjectKey: one.subjectKey, given: box.given }));
    expect(subjectMac(one)).not.toBe(subjectMac(other));
    expect(authorisationMac(one, 'x')).not.toBe(authorisationMac(other, 'x'));
  });

  it('does not depend on the order in which a subject was given', () => {
    const { subjectKey } = box;
    expect(subjectMac({ subjectKey, given: given.toReversed() })).toBe(subjectMac({ subjectKey, given: [...given] }));
  });

  it('is the same in one data folder, another in the next', () => {
    const [here, there] = [freshFolder(), freshFolder()];
    expect(reasonMac(here, boxKeyName, 'reason')).toBe(reasonMac(here, boxKeyName, 'reason'));
    expect(reasonMac(here, boxKeyName, 'reason')).not.toBe(reasonMac(there, boxKeyName, 'reason'));
  });
});

describe('test vectors', () => {
  // The key of a folder is 32 bytes of 0x11, the key of a request 32 bytes of 0x22. Made with Python: hmac, hkdf by RFC 5869.
  const subjectKey = '22'.repeat(32);

  function plantedFolder(): string {
    const dataDir = freshFolder();
    mkdirSync(dirname(keyPath(dataDir, boxKeyName)), { recursive: true, mode: 0o700 });
    writeFileSync(keyPath(dataDir, boxKeyName), `${'11'.repeat(32)}\n`, { mode: 0o600 });
    return dataDir;
  }

  it('of the HMACs on the ledger', () => {
    const email = { kind: 'email', value: ' Ann@X.example' } as const;
    expect(subjectMac({ subjectKey, given: [email] })).toBe(
      '5a09786fdd6ae08625a617f068868575d0ae87352c33d2db88572fe204628fde',
    );
    expect(subjectMac({ subjectKey, given: [email, { kind: 'distinct_id', value: 'a\n"\ud800' }] })).toBe(
      '41939a829d43cd5ae05f4d6996106c35e182125d158fd00d5d871943573c24fa',
    );
    expect(authorisationMac({ subjectKey }, 'TICKET-1')).toBe(
      '604764c6da0b60d1707d6f6563a0e80d80f868359bfc88041f104f73795408cc',
    );
    expect(reasonMac(plantedFolder(), boxKeyName, 'TICKET-2')).toBe(
      '6fa12d1142c494badf6faa30335c01acfc1298782c810f097f607e654734b8dc',
    );
  });

  it('of boxes, those of earlier versions too', () => {
    const dataDir = plantedFolder();
    const about = '00000000-0000-4000-8000-000000000001';
    const open = (sealed: string): string => decryptText(dataDir, boxKeyName, about, Buffer.from(sealed, 'hex'));
    expect(open('000102030405060708090a0b14e30738fe4a88a23c94e70cfdaf7b8536a2251deb')).toBe('a box');
    expect(open('000102030405060708090a0b72c3d47c031af284ee2d2287c2c4ba52ab5123ef50')).toBe('a box');
    expect(() => open('000102030405060708090a0b14e30738fe4a88a23c94e70cfdaf7b8536a2251d00')).toThrow(
      /unable to authenticate/,
    );
  });
});
