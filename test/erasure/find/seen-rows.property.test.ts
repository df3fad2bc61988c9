import fc from 'fast-check';
import { expect, test } from 'vitest';
import { identifierKinds, identityOf, nobody } from '../../../src/contract/identity.ts';
import { alikeRecordings, type Seen } from '../../../src/erasure/find/seen-rows.ts';
import { closeIdentity, indexSightings } from '../../../src/erasure/find/closure.ts';
import { email, personRows } from './person-rows.ts';

// Few of each kind, so that many recordings are alike, and some nearly.
const uuid: fc.Arbitrary<string> = fc.constantFrom('u1', 'u2', 'u3');
const distinctId: fc.Arbitrary<string> = fc.constantFrom('a', 'b', 'c');
const distinctIds = fc.uniqueArray(distinctId, { maxLength: 2 });
const personRow = personRows({ uuid, personId: fc.constantFrom('1', '2'), distinctIds });
const recordingRow = fc.record({
  person_uuid: fc.option(uuid),
  person_id: fc.option(fc.constantFrom('1', '2', '3')),
  distinct_ids: distinctIds,
  recording_id: fc.constantFrom('r1', 'r2', 'r3', 'r4', 'r5', 'r6'),
  values: fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 2 }),
  email,
});
const world = fc.record({
  persons: fc.array(personRow, { maxLength: 4 }),
  // A recording stands once at each place.
  recordings: fc.uniqueArray(
    fc.tuple(fc.constantFrom('recording' as const, 'lead' as const, 'service' as const), recordingRow),
    { maxLength: 12, selector: ([place, { recording_id: id }]) => `${place} ${id}` },
  ),
  living: fc.uniqueArray(uuid),
  owners: fc.array(fc.tuple(distinctId, uuid)),
  start: fc.record({
    person_uuid: fc.uniqueArray(uuid, { maxLength: 1 }),
    person_id: fc.constant<string[]>([]),
    distinct_id: fc.uniqueArray(distinctId, { maxLength: 1 }),
    recording_id: fc.uniqueArray(fc.constantFrom('r1', 'r2', 'r7'), { maxLength: 2 }),
  }),
});

test('asked about one of the recordings that are alike, a closure finds for all what it finds asked about each', () => {
  fc.assert(
    fc.property(world, ({ persons, recordings, living, owners, start }) => {
      const all = recordings.map(([place, row]) => ({ ...row, place }));
      const people = persons.map((row) => ({ ...row, place: 'person' as const }));
      const others = {
        isLiving: (one: string) => living.includes(one) && !start.person_uuid.includes(one),
        ownerOf: (one: string) => new Map(owners).get(one),
        holdersOf: (address: string) =>
          [...people, ...all].flatMap((row) => (row.email === address ? (row.person_uuid ?? []) : [])),
      };
      const each = closeIdentity(start, indexSightings<Seen>([...people, ...all]), others);
      const alike = alikeRecordings([nobody, start]);
      // Taken twice is taken once.
      for (const row of [...all, ...all]) alike.take(row.place, row);
      const { rows, fold, unfold } = alike.read();
      const one = closeIdentity(fold(start), indexSightings<Seen>([...people, ...rows]), others);
      const sorted = (identity: typeof start): unknown =>
        identityOf((kind) => [...new Set(identity[kind])].toSorted((a, b) => (a < b ? -1 : 1)));
      expect(sorted(unfold(one.identity) as typeof start)).toEqual(sorted(each.identity as typeof start));
      expect(one.sharedWith).toEqual(each.sharedWith);
      expect(one.emails).toEqual(each.emails);
      const counted = (found: readonly Seen[]): unknown =>
        Object.fromEntries(
          [...Map.groupBy(found, ({ place }) => place)].map(([place, some]) => [
            place,
            some.reduce((sum, { rows: more = 1 }) => sum + more, 0),
          ]),
        );
      expect(counted(one.own)).toEqual(counted(each.own));
      expect(counted(one.naming)).toEqual(counted(each.naming));
      const texts = (found: readonly Seen[]): Set<string> => new Set(found.flatMap(({ values }) => values));
      expect([...texts(each.own)].filter((text) => !texts(one.own).has(text))).toEqual([]);
      expect(identifierKinds.every((kind) => one.identity[kind].length <= each.identity[kind].length)).toBe(true);
    }),
    { numRuns: 3000 },
  );
});

test('many recordings of one person are one row in memory, and texts beyond the room are counted', () => {
  const alike = alikeRecordings([{ ...nobody, person_uuid: ['u'] }]);
  const person = { person_uuid: 'u', person_id: '1', distinct_ids: ['a', 'b'] };
  for (let n = 0; n < 20_000; n += 1)
    alike.take('recording', { ...person, recording_id: `r${n}`, values: [`https://x.example/${n}`, 'the same'] });
  const { rows, unfold } = alike.read();
  expect(rows).toMatchObject([{ ...person, rows: 20_000 }]);
  expect(unfold({ ...nobody, recording_id: [rows[0]?.recording_id ?? ''] }).recording_id).toHaveLength(20_000);
  const { values = [], kept } = rows[0] ?? {};
  expect(values).toContain('the same');
  expect(values.length + (kept?.dropped() ?? 0)).toBe(20_001);
  expect(values.join('').length).toBeLessThan(300_000);
});
