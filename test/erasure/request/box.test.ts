import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { keyPath } from '../../../src/core/secret-key.ts';
import {
  closeBox,
  newBox,
  openBox,
  subjectMac,
  subjectText,
  textMac,
  type Box,
} from '../../../src/erasure/request/box.ts';
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
  it('is told only by whoever has the request’s own key', () => {
    const [one, other] = [newBox(box.given, box.identity), newBox(box.given, box.identity)];
    expect(subjectMac(one, 'x')).toMatch(/^[0-9a-f]{64}$/);
    expect(subjectMac(one, 'x')).toBe(subjectMac({ subjectKey: one.subjectKey }, 'x'));
    expect(subjectMac(one, 'x')).not.toBe(subjectMac(other, 'x'));
  });

  it('does not depend on the order in which a subject was given', () => {
    const given = [
      { kind: 'uuid', value: 'u' },
      { kind: 'id', value: '1' },
    ] as const;
    expect(subjectText({ given: [...given] })).toBe('id,1\nuuid,u\n');
    expect(subjectText({ given: given.toReversed() })).toBe('id,1\nuuid,u\n');
  });

  it('is the same in one data folder, another in the next', () => {
    const [here, there] = [freshFolder(), freshFolder()];
    expect(textMac(here, 'reason')).toBe(textMac(here, 'reason'));
    expect(textMac(here, 'reason')).not.toBe(textMac(there, 'reason'));
  });
});
