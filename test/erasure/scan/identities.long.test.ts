import fc from 'fast-check';
import { expect, it } from 'vitest';
import { identifierKinds, identityOf, type Identity } from '../../../src/contract/identity.ts';
import { indexIdentities } from '../../../src/erasure/scan/identity-index.ts';

it('identifiers are found for each subject and kind that has them, and others are not', () => {
  const few = fc.array(fc.constantFrom('a', 'b', 'ab', 'ba', '\ud800', 'ā', '1'), { maxLength: 6 });
  const anyIdentity = fc
    .record({ person_uuid: few, person_id: few, distinct_id: few, recording_id: few })
    .map((lists): Identity => identityOf((kind) => [...new Set(lists[kind])]));
  fc.assert(
    fc.property(fc.array(anyIdentity, { maxLength: 5 }), (identities) => {
      const { subjectsOf } = indexIdentities(identities);
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
  const { subjectsOf } = indexIdentities([{ person_uuid: [], person_id: [], distinct_id: [], recording_id: ids }]);
  const found = (value: string): number[] => subjectsOf({ kind: 'recording_id', value });
  expect(ids.filter((value) => found(value).length !== 1)).toEqual([]);
  expect(ids.filter((value) => found(value.replace('c0de', 'c0df')).length !== 0)).toEqual([]);
});
