import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { keyPath, reasonMac, textDecryption } from '../../../src/core/secret-key.ts';
import { boxKeyName } from '../../../src/mirror/fence.ts';
import {
  authorisationMac,
  boxDetailsOf,
  boxOf,
  closeBox,
  listedIdentity,
  newBox,
  openBoxes,
  subjectMac,
  type Box,
} from '../../../src/erasure/request/box.ts';
import { insertRequest, updateRequest } from '../../../src/mirror/erasure-requests.ts';
import { readBox } from '../../../src/mirror/request-box.ts';
import { freshFolder, openTestMirror } from '../../mirror/open-test-mirror.ts';

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

/** A mirror with a request that has a box. `change` writes another box in its place. */
function kept(one: Box) {
  const { db, dataDir } = openTestMirror();
  const context = { db, settings: { dataDir } };
  const request = {
    generation: 1,
    isAccess: false,
    origin: 'manual',
    basis: 'objection',
    authorisedBy: null,
    deleteEvents: true,
  } as const;
  const times = { receivedAt: '2026-11-20T12:00:01.000Z', dueAt: '2026-12-20T12:00:01.000Z' };
  insertRequest(db, { ...request, ...times, id, box: closeBox(context, id, one) });
  const change = (closed: Buffer): void => void db.prepare(`UPDATE erasure_requests SET box = ?`).run(closed);
  return { db, dataDir, context, closed: readBox(db, id) ?? Buffer.of(), change };
}

const wide: Box = {
  ...box,
  identity: { ...box.identity, recording_id: Array.from({ length: 12_001 }, (_, n) => `recording ${n}`) },
};

describe('a box', () => {
  it.each([
    ['', box],
    [' of a large person', wide],
  ])('%sopens as it was closed, and shows nothing of it meanwhile', async (_whose, one) => {
    const { db, context, closed } = kept(one);
    expect(boxOf(context, id)).toEqual(one);
    expect(await openBoxes(context, () => true)).toMatchObject([{ request: { id }, box: one }]);
    expect(boxDetailsOf(context, id)).toEqual({ ...one, identity: undefined });
    const parts = db.prepare<[], Buffer>(`SELECT encrypted FROM box_parts`).pluck().all();
    expect(Buffer.concat([closed, ...parts]).toString('latin1')).not.toMatch(/ann@x|recording /);
    expect(closeBox(context, id, one).equals(closed)).toBe(false);
  });

  it('of a large person is in texts that are no longer than those of others', () => {
    const { db, context, closed } = kept(wide);
    const longest = db.prepare<[], number>(`SELECT max(length(encrypted)) FROM box_parts`).pluck();
    expect(longest.get()).toBeLessThan(120_000);
    expect(closed.length).toBeLessThan(2000);
    // Neither a smaller box nor none has parts.
    updateRequest(db, id, { box: closeBox(context, id, box) });
    expect(longest.get()).toBeNull();
    expect(boxOf(context, id)).toEqual(box);
    updateRequest(db, id, { box: closeBox(context, id, wide) });
    updateRequest(db, id, { box: null });
    expect(longest.get()).toBeNull();
    expect(boxOf(context, id)).toBeUndefined();
  });

  it.each([
    ['is gone', `DELETE FROM box_parts WHERE part = 1`],
    [
      'stands in the place of another',
      `UPDATE box_parts SET encrypted = (SELECT encrypted FROM box_parts WHERE part = 0)`,
    ],
    ['is cut off', `UPDATE box_parts SET encrypted = substr(encrypted, 1, 40)`],
  ])('of a large person does not open where a part %s', (_how, sql) => {
    const { db, context } = kept(wide);
    db.exec(sql);
    expect(() => boxOf(context, id)).toThrow(`the identifiers of request ${id} cannot be decrypted`);
    // What stands beside the identifiers is there.
    expect(boxDetailsOf(context, id)).toMatchObject({ given: box.given });
  });

  it.each<[string, (closed: Buffer, dataDir: string) => Buffer | void]>([
    [
      'under another request’s id',
      (_closed, dataDir) => closeBox({ ...kept(box).context, settings: { dataDir } }, randomUUID(), box),
    ],
    ['with another key', (_closed, dataDir) => writeFileSync(keyPath(dataDir, 'box.key'), `${'ab'.repeat(32)}\n`)],
    ['without its key', (_closed, dataDir) => rmSync(keyPath(dataDir, 'box.key'))],
    ['when a bit of it is damaged', (closed) => closed.with(20, (closed[20] ?? 0) ^ 1) as Buffer],
    ['when a bit of its nonce is damaged', (closed) => closed.with(0, (closed[0] ?? 0) ^ 1) as Buffer],
    ['when it is cut off', (closed) => closed.subarray(0, -1)],
    ['when nothing is left of it', () => Buffer.alloc(0)],
  ])('does not open %s, and the error tells nothing of it', (_how, changed) => {
    const { dataDir, context, closed, change } = kept(box);
    change(Buffer.from(changed(closed, dataDir) ?? closed));
    const open = (): unknown => boxOf(context, id);
    expect(open).toThrow(`the identifiers of request ${id} cannot be decrypted`);
    expect(errorOf(open)).toMatchObject({ code: 'storage' });
    // The parser's own words would quote what was encrypted.
    expect(errorOf(open)).not.toHaveProperty('cause');
  });

  it('is needed for whom the service lists again, and says so where the key does not fit', () => {
    const { db, dataDir, context } = kept(box);
    const list = db.prepare(`UPDATE erasure_requests SET listed_again = encrypt_text(id, ?)`);
    list.run(JSON.stringify(box.identity));
    expect(listedIdentity(context, id)).toEqual(box.identity);
    rmSync(keyPath(dataDir, 'box.key'));
    const open = (): unknown => listedIdentity(context, id);
    expect(open).toThrow(`the identifiers of request ${id} cannot be decrypted`);
    expect(errorOf(open)).toMatchObject({ code: 'storage' });
  });

  it('with a damaged key says which file that is', () => {
    const { dataDir, context } = kept(box);
    writeFileSync(keyPath(dataDir, 'box.key'), 'ab');
    expect(() => boxOf(context, id)).toThrow(/keys\/box\.key is damaged/);
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
      'cab11ef47666eba1064d413f00345067eab396f1c10bc8460c25b438b3602f27',
    );
    expect(subjectMac({ subjectKey, given: [email, { kind: 'distinct_id', value: 'a\n"\ud800' }] })).toBe(
      '9761ab36e72f3378a255a5f5e9d3ac188724bfe54853acb742eb5d39e88cd79d',
    );
    expect(authorisationMac({ subjectKey }, 'TICKET-1')).toBe(
      'cf4114d638fc418614ae90fa2b1ec7e86906792b7422b9d7af59832719c1a14b',
    );
    expect(reasonMac(plantedFolder(), boxKeyName, 'TICKET-2')).toBe(
      'c38f008d71bade7cadf257e42a7d8e9b7dca7f5acbf49ddd18f2232daa87b191',
    );
  });

  it('of boxes', () => {
    const dataDir = plantedFolder();
    const about = '00000000-0000-4000-8000-000000000001';
    const open = (sealed: string): string => textDecryption(dataDir, boxKeyName)(about, Buffer.from(sealed, 'hex'));
    expect(open('000102030405060708090a0b16a3af73254fd382cc50a53da28f004a13994475f9')).toBe('a box');
    expect(() => open('000102030405060708090a0b16a3af73254fd382cc50a53da28f004a1399447500')).toThrow(
      /unable to authenticate/,
    );
  });
});
