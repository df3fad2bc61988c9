import { describe, expect, it } from 'vitest';
import { planStart, readShown, type MirroredOwner, type OwnerLook } from '../../../src/erasure/find/start-plan.ts';
import type { Sighting } from '../../../src/contract/identity.ts';
import type { GivenIdentifier } from '../../../src/erasure/request/box.ts';

function person(uuid: string, facts: { id?: string; ids?: string[]; email?: string } = {}): Sighting {
  const { id = null, ids = [], email } = facts;
  return { person_uuid: uuid, person_id: id, distinct_ids: ids, recording_id: null, values: [], email };
}

const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `id ${index}`);

describe('an answer', () => {
  const byId: GivenIdentifier = { kind: 'id', value: '11' };
  const byUuid: GivenIdentifier = { kind: 'uuid', value: 'a' };
  const byDistinctId: GivenIdentifier = { kind: 'distinct_id', value: 'ann' };
  const byEmail: GivenIdentifier = { kind: 'email', value: 'ann@x.example' };
  const ann = person('a', { id: '11', ids: ['ann'], email: 'ann@x.example' });
  const bob = person('b', { id: '1', ids: ['joann', 'bob'], email: 'joann@x.example' });
  const cut = person('c', { ids: many(1000) });

  it.each<[string, GivenIdentifier, (Sighting | null)[], string[] | null]>([
    ['that is empty shows nobody', byDistinctId, [], []],
    ['shows whoever has the distinct id', byDistinctId, [ann], ['a']],
    ['shows whoever has the uuid', byUuid, [ann], ['a']],
    ['shows whoever has the integer id', byId, [ann], ['a']],
    ['shows whoever has the address', byEmail, [ann], ['a']],
    ['shows all who have the address', byEmail, [ann, person('b', { email: 'ann@x.example' })], ['a', 'b']],
    ['with a row of somebody else says nothing', byDistinctId, [ann, bob], null],
    ['with others alone says nothing', byDistinctId, [bob], null],
    ['with another address says nothing', byEmail, [ann, bob], null],
    ['with somebody without an address says nothing', byEmail, [person('b')], null],
    ['by uuid that shows another says nothing', byUuid, [bob], null],
    ['by id that shows another says nothing', byId, [bob], null],
    ['by id that shows none says nothing', byId, [person('a')], null],
    ['with a row that cannot be read says nothing', byDistinctId, [ann, null], null],
    ['of one row whose distinct ids are cut shows that person', byDistinctId, [cut], ['c']],
    ['of several rows, one of them cut, says nothing', byDistinctId, [ann, cut], null],
    ['of one row just short of being cut says nothing', byDistinctId, [person('c', { ids: many(999) })], null],
  ])('%s', (_what, given, rows, shown) => {
    expect(readShown(given, rows)?.map(({ person_uuid: uuid }) => uuid) ?? null).toEqual(shown);
  });
});

describe('whom the mirror has under a distinct id', () => {
  const given: GivenIdentifier = { kind: 'distinct_id', value: 'device' };
  const shown = [person('new', { ids: ['device'] })];
  const plan = (look: OwnerLook, before = shown) => {
    const owners: MirroredOwner[] = [{ uuid: 'old', given, look }];
    const { shown: after, named, isDoubted } = planStart(before, owners);
    return { shown: after.map(({ person_uuid: uuid }) => uuid), named, isDoubted };
  };

  it('is somebody else where the service shows another, and shows them without it', () => {
    expect(plan(person('old', { ids: ['other'] }))).toEqual({ shown: ['new'], named: [], isDoubted: false });
  });

  it('is the subject too where the service has them no longer', () => {
    expect(plan('gone')).toEqual({ shown: ['new'], named: ['old'], isDoubted: false });
  });

  it('is in doubt by an integer id, which a restored service gives again', () => {
    const owner = { uuid: 'old', given: { kind: 'id', value: '7' }, look: 'gone' } as const;
    expect(planStart([person('new')], [owner])).toMatchObject({ named: [], isDoubted: true });
    expect(planStart([], [owner])).toMatchObject({ named: ['old'], isDoubted: false });
  });

  it('is in doubt where the service does not tell', () => {
    const doubted = { shown: ['new'], named: [], isDoubted: true };
    expect(plan('unknown')).toEqual(doubted);
    expect(plan(person('old', { ids: many(1000) }))).toEqual(doubted);
  });

  it('is shown where the service shows them with it', () => {
    const look = person('old', { ids: ['device'] });
    expect(plan(look)).toEqual({ shown: ['new', 'old'], named: [], isDoubted: false });
  });

  it('is the subject where the service shows nobody, unless it shows them without it', () => {
    expect(plan('unknown', [])).toEqual({ shown: [], named: ['old'], isDoubted: false });
    expect(plan('gone', [])).toEqual({ shown: [], named: ['old'], isDoubted: false });
    expect(plan(person('old'), [])).toEqual({ shown: [], named: [], isDoubted: false });
  });
});

describe('whom any row held shows with an address', () => {
  const given: GivenIdentifier = { kind: 'email', value: 'Ann@X.example' };
  const plan = (look: OwnerLook) => {
    const { shown, ...rest } = planStart([], [{ uuid: 'old', given, look }]);
    return { shown: shown.map(({ person_uuid: uuid }) => uuid), ...rest };
  };

  it('is named, whatever the service says of them now', () => {
    const named = { shown: [], named: ['old'], living: ['old'], isDoubted: false };
    expect(plan(person('old', { email: 'new@x.example' }))).toEqual({
      ...named,
      shown: ['old'],
      named: [],
      living: [],
    });
    expect(plan(person('old'))).toEqual({ ...named, shown: ['old'], named: [], living: [] });
    expect(plan('unknown')).toEqual(named);
    expect(plan('gone')).toEqual({ ...named, living: [] });
  });
});
