import fc from 'fast-check';
import { expect, test } from 'vitest';
import { identifierKinds, identityOf, type Sighting } from '../../../src/contract/identity.ts';
import { closeIdentity, identifiersOf, indexSightings, isNameless } from '../../../src/erasure/find/closure.ts';
import { prepareNames } from '../../../src/mirror/quarantine.ts';
import { email, personRows } from './person-rows.ts';

// Few of each kind, so that everything meets everything.
const uuid: fc.Arbitrary<string> = fc.constantFrom('u1', 'u2', 'u3', 'u4');
const distinctId: fc.Arbitrary<string> = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const distinctIds = fc.uniqueArray(distinctId, { maxLength: 3 });
const personId = fc.constantFrom('1', '2', '3');
const personRow = personRows({ uuid, personId, distinctIds });
const recordingRow = fc.record({
  person_uuid: fc.option(uuid),
  person_id: fc.option(personId),
  distinct_ids: distinctIds,
  recording_id: fc.constantFrom('r1', 'r2', 'r3'),
  values: fc.constant<string[]>([]),
  email,
});
const world = fc.record({
  rows: fc.array(fc.oneof(personRow, recordingRow), { maxLength: 8 }),
  living: fc.uniqueArray(uuid),
  owners: fc.array(fc.tuple(distinctId, uuid)),
  // How the request names the subject: by an identifier of one kind.
  given: fc.oneof(
    fc.record({ kind: fc.constant('person_uuid' as const), value: uuid }),
    fc.record({ kind: fc.constant('person_id' as const), value: personId }),
    fc.record({ kind: fc.constant('distinct_id' as const), value: distinctId }),
  ),
});

type World = typeof world extends fc.Arbitrary<infer T> ? T : never;

function closeIn(rows: readonly Sighting[], { living, owners, given }: Omit<World, 'rows'>) {
  const start = identityOf((kind) => (kind === given.kind ? [given.value] : []));
  return closeIdentity(start, indexSightings(rows), {
    isLiving: (one) => living.includes(one) && one !== given.value,
    ownerOf: (distinctId) => new Map(owners).get(distinctId),
    holdersOf: (email) => rows.flatMap((row) => (row.email === email ? (row.person_uuid ?? []) : [])),
  });
}

test('no row that carries anything of the subject is left out, and none is both its own and another’s', () => {
  fc.assert(
    fc.property(world, ({ rows, ...others }) => {
      const { identity, own, naming } = closeIn(rows, others);
      // An integer id tells nothing of a row that shows another person.
      const isOthers = ({ person_uuid: shown }: Sighting): boolean =>
        shown !== null && !identity.person_uuid.includes(shown);
      const carries = (row: Sighting): boolean =>
        identifiersOf(row).some(
          ({ kind, value }) => identity[kind].includes(value) && !(kind === 'person_id' && isOthers(row)),
        );
      expect(rows.filter((row) => carries(row) !== (own.includes(row) || naming.includes(row)))).toEqual([]);
      expect(own.filter((row) => naming.includes(row))).toEqual([]);
    }),
    { numRuns: 2000 },
  );
});

test('nothing of a living other is taken: neither uuid, nor what it holds', () => {
  fc.assert(
    fc.property(world, ({ rows, ...others }) => {
      const { identity } = closeIn(rows, others);
      const isOther = (one: string | undefined): boolean =>
        one !== undefined &&
        one !== others.given.value &&
        others.living.includes(one) &&
        !identity.person_uuid.includes(one);
      // Whoever has the integer id that the request names is meant.
      const hasId = (one: string): boolean =>
        rows.some(({ person_uuid: shown, person_id: id }) => shown === one && id === others.given.value);
      const taken = identity.person_uuid.filter((one) => one !== others.given.value && others.living.includes(one));
      expect(taken.filter((one) => others.given.kind !== 'person_id' || !hasId(one))).toEqual([]);
      const found = identity.distinct_id.filter((one) => one !== others.given.value);
      expect(found.filter((one) => isOther(new Map(others.owners).get(one)))).toEqual([]);
    }),
    { numRuns: 2000 },
  );
});

test('a nameless row is never taken by an address that a living other has had', () => {
  fc.assert(
    fc.property(world, ({ rows, ...others }) => {
      const { identity, own, emails } = closeIn(rows, others);
      const hadByOther = (address: string | undefined): boolean =>
        rows.some(
          ({ email: one, person_uuid: holder }) =>
            one === address &&
            holder !== null &&
            others.living.includes(holder) &&
            !identity.person_uuid.includes(holder),
        );
      expect([...emails].filter(hadByOther)).toEqual([]);
      // Only by an identifier of the subject.
      const taken = own.filter((row) => isNameless(row) && hadByOther(row.email));
      expect(taken.filter((row) => !prepareNames(identity)(identifiersOf(row)))).toEqual([]);
    }),
    { numRuns: 2000 },
  );
});

test('the order in which rows are seen tells nothing', () => {
  const shuffled = world.chain((given) =>
    fc.tuple(fc.constant(given), fc.shuffledSubarray(given.rows, { minLength: given.rows.length })),
  );
  fc.assert(
    fc.property(shuffled, ([{ rows, ...others }, again]) => {
      const [first, second] = [closeIn(rows, others), closeIn(again, others)];
      expect(identifierKinds.map((kind) => second.identity[kind])).toEqual(
        identifierKinds.map((kind) => first.identity[kind]),
      );
      expect(new Set(second.own)).toEqual(new Set(first.own));
      expect(new Set(second.naming)).toEqual(new Set(first.naming));
      expect(second.sharedWith).toEqual(first.sharedWith);
      expect(second.emails).toEqual(first.emails);
    }),
    { numRuns: 2000 },
  );
});
