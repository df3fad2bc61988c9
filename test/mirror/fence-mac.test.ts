import { createCipheriv, createHash, hkdfSync } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { fenceIdentifiers, setEpoch } from '../../src/mirror/fence.ts';
import { fenceMacUnder, prepareFenceFilter } from '../../src/mirror/fence-mac.ts';
import { startPass } from '../../src/mirror/passes.ts';
import { preparePageCommit } from './commit-page.ts';
import { openTestMirror } from './open-test-mirror.ts';

const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)), maxLength: 60 }),
  fc
    .tuple(fc.string({ unit: 'binary', minLength: 1, maxLength: 3 }), fc.integer({ min: 1, max: 6000 }))
    .map(([unit, times]) => unit.repeat(times)),
);

it('the tag of an identifier is the SHA-256 of the derived key, kind, colon and value, and the MAC is the tag encrypted', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 0, maxLength: 130 }),
      fc.array(texts, { minLength: 1, maxLength: 6 }),
      (bytes, values) => {
        const key = Buffer.from(bytes);
        const { tagOf, macOf, tagIn } = fenceMacUnder(() => key);
        const derived = (purpose: string): Buffer =>
          Buffer.from(hkdfSync('sha256', key, '', `analytics-mirror ${purpose}`, 32));
        for (const value of values) {
          const text = `${derived('fence of readers').toString('hex')}distinct_id:${value}`;
          const expected = createHash('sha256').update(text).digest('hex');
          expect(Buffer.from(tagOf('distinct_id', value) ?? '', 'latin1').toString('hex')).toBe(expected);
          const cipher = createCipheriv('aes-256-ecb', derived('fence in the mirror'), null).setAutoPadding(false);
          expect(macOf(expected)).toBe(cipher.update(expected, 'hex', 'hex'));
          expect(tagIn(macOf(expected))).toBe(expected);
        }
      },
    ),
  );
});

it('without a key there is no tag, and the key is asked for until there is one', () => {
  let key: Buffer | undefined;
  const { tagOf, macOf } = fenceMacUnder(() => key);
  expect(tagOf('distinct_id', 'ann')).toBeUndefined();
  expect(() => macOf('00'.repeat(32))).toThrow(/without the key/);
  key = Buffer.alloc(32);
  expect(tagOf('distinct_id', 'ann')).toHaveLength(32);
});

it('the filter holds every fenced identifier, and next to no other', () => {
  const { db } = openTestMirror();
  const values = Array.from({ length: 300 }, (_, index) => `id ${index} \u0000 é`);
  const request = { id: 'request', epoch: 1, at: '2026-01-01T00:00:00Z' };
  fenceIdentifiers(
    db,
    request,
    values.map((value) => ({ kind: 'distinct_id' as const, value })),
  );
  const filter = prepareFenceFilter(db);
  filter.refresh();
  expect(values.every((value) => filter.mayHold('distinct_id', value))).toBe(true);
  expect(
    values.filter((value) => filter.mayHold('person_uuid', value) || filter.mayHold('distinct_id', `${value}.`)),
  ).toEqual([]);
});

it('a fence that is raised while a pass is under way keeps out what its next page shows', () => {
  const { db } = openTestMirror();
  const passId = startPass(db, { dataset: 'persons', mode: 'full', plan: '{}', at: '2026-01-01T00:00:00Z' });
  const commit = preparePageCommit(db, 'persons', passId);
  const page = (uuid: string) => {
    const person = {
      uuid,
      id: null,
      name: null,
      distinct_ids: '[]',
      properties: '{}',
      created_at: '2026-01-01T00:00:00Z',
      extra: null,
    };
    return { rows: [person], quarantined: [], at: '2026-01-02T00:00:00Z' };
  };
  expect(commit(page('eve'))).toMatchObject({ added: 1 });
  for (const [epoch, value] of [
    [1, 'ann'],
    [2, 'bob'],
  ] as const) {
    fenceIdentifiers(db, { id: `of ${value}`, epoch, at: '2026-01-03T00:00:00Z' }, [{ kind: 'person_uuid', value }]);
    setEpoch(db, epoch);
    expect(commit(page(value))).toMatchObject({ added: 0, fenced: 1 });
  }
});
