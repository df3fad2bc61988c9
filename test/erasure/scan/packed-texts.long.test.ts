import fc from 'fast-check';
import { expect, it } from 'vitest';
import { identifierKinds, identityOf, type Identity } from '../../../src/contract/identity.ts';
import { indexIdentities } from '../../../src/erasure/scan/identity-index.ts';
import { packTexts, type PackedTexts } from '../../../src/erasure/scan/packed-texts.ts';

/** Any texts: of Latin and other letters, not well-formed ones, empty ones, and one that is longer than what is kept together. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', '\ud800', '\u00ff\u0100', 'x'.repeat(3_000_000), 'š'.repeat(700_000)),
);

function packed(texts: Iterable<string>): PackedTexts {
  const list = packTexts();
  for (const text of texts) list.push(text);
  return list;
}

it('packed texts are the texts that were packed, in their order', () => {
  fc.assert(
    fc.property(fc.array(anyText, { maxLength: 200 }), (texts) => {
      const list = packed(texts);
      expect([...list]).toEqual(texts);
      expect(list.length).toBe(texts.length);
      expect(texts.map((_text, index) => list.at(index))).toEqual(texts);
      expect([list.at(-1), list.at(texts.length)]).toEqual([undefined, undefined]);
    }),
    { numRuns: 100 },
  );
});

it('identifiers are found for each subject and kind that has them, and others are not', () => {
  const few = fc.array(fc.constantFrom('a', 'b', 'ab', 'ba', '\ud800', 'ā', '1'), { maxLength: 6 });
  const anyIdentity = fc
    .record({ person_uuid: few, person_id: few, distinct_id: few, recording_id: few })
    .map((lists): Identity => identityOf((kind) => [...new Set(lists[kind])]));
  fc.assert(
    fc.property(fc.array(anyIdentity, { maxLength: 5 }), (identities) => {
      const { subjectsOf } = indexIdentities(
        identities.map((identity) => ({
          person_uuid: packed(identity.person_uuid),
          person_id: packed(identity.person_id),
          distinct_id: packed(identity.distinct_id),
          recording_id: packed(identity.recording_id),
        })),
      );
      for (const kind of identifierKinds)
        for (const value of ['a', 'b', 'ab', 'ba', '\ud800', 'ā', '1', 'c', ''])
          expect(subjectsOf({ kind, value })).toEqual(
            identities.flatMap((identity, subject) => (identity[kind].includes(value) ? subject : [])),
          );
    }),
  );
});

it('among a hundred thousand identifiers, each is found once, and none that is not there', () => {
  const ids = Array.from({ length: 100_000 }, (_, n) => `0190c0de-0000-7000-8000-${String(n).padStart(12, '0')}`);
  const { subjectsOf } = indexIdentities([
    { person_uuid: [], person_id: [], distinct_id: [], recording_id: packed(ids) },
  ]);
  const found = (value: string): number[] => subjectsOf({ kind: 'recording_id', value });
  expect(ids.filter((value) => found(value).length !== 1)).toEqual([]);
  expect(ids.filter((value) => found(value.replace('c0de', 'c0df')).length !== 0)).toEqual([]);
});
