import { describe, expect, it } from 'vitest';
import { identityOf, nobody, type Identity, type Sighting } from '../../../src/contract/identity.ts';
import { closeIdentity, indexSightings, type LivingOthers } from '../../../src/erasure/find/closure.ts';

type Row = Sighting & { name: string };

function person(name: string, uuid: string, distinctIds: string[], id: string | null = null): Row {
  return { name, person_uuid: uuid, person_id: id, distinct_ids: distinctIds, recording_id: null, values: [] };
}

/** Recorded under the first of the distinct ids. */
function recording(name: string, uuid: string | null, distinctIds: string[]): Row {
  return { name, person_uuid: uuid, person_id: null, distinct_ids: distinctIds, recording_id: name, values: [] };
}

/** Those who live, and what each holds. */
function living(holders: Record<string, string[]> = {}, emails: Record<string, string[]> = {}): LivingOthers {
  return {
    holdersOf: (email) => emails[email] ?? [],
    isLiving: (uuid) => Object.hasOwn(holders, uuid),
    ownerOf: (distinctId) => Object.keys(holders).find((uuid) => holders[uuid]?.includes(distinctId)),
  };
}

const of = (known: Partial<Identity>): Identity => identityOf((kind) => known[kind] ?? []);
const names = (rows: readonly Row[]): string[] => rows.map(({ name }) => name).toSorted();

function close(start: Partial<Identity> & { email?: string[] }, rows: readonly Row[], others = living()) {
  const closed = closeIdentity({ ...of(start), email: start.email ?? [] }, indexSightings(rows), others);
  const { own, naming, emails, sharedWith, identity } = closed;
  return { identity, own: names(own), naming: names(naming), emails: [...emails], sharedWith: [...sharedWith] };
}

describe('a subject is known by all that was ever seen together', () => {
  it('over any number of steps, through rows that name neither end', () => {
    const rows = [person('1', 'u1', ['a', 'b'], '7'), recording('r', null, ['b', 'c']), person('2', 'u2', ['c'], '8')];
    expect(close({ distinct_id: ['a'] }, rows)).toEqual({
      identity: of({
        person_uuid: ['u1', 'u2'],
        person_id: ['7', '8'],
        distinct_id: ['a', 'b', 'c'],
        recording_id: ['r'],
      }),
      own: ['1', '2', 'r'],
      naming: [],
      emails: [],
      sharedWith: [],
    });
  });

  it('with the ids of those who were merged into it, in old files', () => {
    const rows = [person('old', 'loser', ['b'], '8'), person('now', 'survivor', ['a', 'b'], '7')];
    expect(close({ person_uuid: ['survivor'] }, rows).identity).toMatchObject({
      person_uuid: ['loser', 'survivor'],
      person_id: ['7', '8'],
    });
  });

  it('by an integer id, also where somebody is known to have been merged into it', () => {
    const index = indexSightings([person('1', 'u1', ['a'], '25')]);
    const closed = closeIdentity({ ...of({ person_id: ['25'] }), former: ['u0'] }, index, living({ u1: ['a'] }));
    expect(closed.identity.person_uuid).toEqual(['u0', 'u1']);
  });

  it('but nobody else who has its integer id: a service that was restored gives ids again', () => {
    const rows = [person('1', 'u1', ['a'], '25'), person('gone', 'u2', ['b'], '25')];
    const { identity, own } = close({ person_uuid: ['u1'] }, rows);
    expect([own, identity.person_uuid, identity.distinct_id]).toEqual([['1'], ['u1'], ['a']]);
  });

  it('but no recording that is another’s now, where nobody has asked for it', () => {
    const rows = [recording('r', 'loser', ['b']), { ...recording('now', 'survivor', ['b']), recording_id: 'r' }];
    const others = living({ survivor: ['a', 'b'] });
    const start = of({ person_uuid: ['loser'], distinct_id: ['b'] });
    const left = closeIdentity(start, indexSightings(rows), others, true);
    expect([left.identity.recording_id, names(left.own), names(left.naming)]).toEqual([[], [], ['now', 'r']]);
    expect(closeIdentity(start, indexSightings(rows), others).identity.recording_id).toEqual(['r']);
  });

  it('nor a recording that was made under a distinct id which another person has by now, and is shown with that person', () => {
    const rows = [
      person('1', 'u1', ['a']),
      recording('r', 'u1', ['b']),
      { ...recording('now', 'u2', ['b']), recording_id: 'r' },
      recording('alone', 'u1', ['b']),
    ];
    const closed = closeIdentity(of({ person_uuid: ['u1'] }), indexSightings(rows), living({ u2: ['b'] }));
    expect([closed.identity.recording_id, names(closed.own), names(closed.naming)]).toEqual([
      ['alone'],
      ['1', 'alone'],
      ['r'],
    ]);
    expect([...closed.sharedWith]).toEqual(['u2']);
  });

  it('but whoever is shown with a distinct id of the subject is named, though the recording is another’s', () => {
    const rows = [person('1', 'u1', ['a']), recording('r', 'u2', ['b', 'a'])];
    const { naming, sharedWith } = closeIdentity(
      of({ person_uuid: ['u1'] }),
      indexSightings(rows),
      living({ u2: ['b'] }),
    );
    expect([names([...naming]), [...sharedWith]]).toEqual([['r'], ['u2']]);
  });

  it('nor by an address what was recorded under a living person’s distinct id, and is shown with that person', () => {
    const rows = [
      { ...recording('of both', 'u1', []), recording_id: 'r' },
      { ...recording('seen', 'u3', []), recording_id: 'r' },
      { ...recording('address', null, []), recording_id: 'r', person_id: '1', email: 'joann@x' },
      { ...recording('left', null, ['c']), recording_id: 'r', email: 'joann@x' },
    ];
    const { own, naming, sharedWith } = close({ person_uuid: ['u3'] }, rows, living({ u1: ['c'] }));
    expect([own, naming, sharedWith]).toEqual([['address', 'of both', 'seen'], ['left'], ['u1']]);
    const start = { ...of({ recording_id: ['other'] }), email: ['joann@x'] };
    const unasked = closeIdentity(start, indexSightings(rows), living({ u1: ['c'] }), true);
    expect([names(unasked.own), [...unasked.sharedWith]]).toEqual([[], []]);
  });

  it('and by nothing that was never seen with it', () => {
    const rows = [person('1', 'u1', ['a']), person('2', 'u2', ['b']), recording('r', 'u2', ['b'])];
    expect(close({ person_uuid: ['u1'] }, rows).own).toEqual(['1']);
    expect(close({ person_uuid: ['unknown'] }, rows)).toEqual({
      identity: of({ person_uuid: ['unknown'] }),
      own: [],
      naming: [],
      emails: [],
      sharedWith: [],
    });
    expect(close({}, rows).identity).toEqual(nobody);
  });

  it('each kind by itself: an id is no distinct id', () => {
    const rows = [person('1', 'u1', ['7']), person('2', 'u2', ['a'], '7')];
    expect(close({ person_id: ['7'] }, rows).own).toEqual(['2']);
    expect(close({ distinct_id: ['7'] }, rows).own).toEqual(['1']);
  });
});

describe('what a living person holds stays with that person', () => {
  it('a split: the distinct id that the other took along, and what that person did since', () => {
    const rows = [
      person('before', 'u1', ['a', 'b']),
      person('1', 'u1', ['a']),
      person('2', 'u2', ['b']),
      recording('r2', 'u2', ['b']),
    ];
    expect(close({ person_uuid: ['u1'] }, rows, living({ u1: ['a'], u2: ['b'] }))).toEqual({
      identity: of({ person_uuid: ['u1'], distinct_id: ['a'] }),
      own: ['1', 'before'],
      naming: [],
      emails: [],
      sharedWith: ['u2'],
    });
  });

  it('a shared device: what names it stays, but loses the name', () => {
    const rows = [person('1', 'u1', ['a', 'device']), person('2', 'u2', ['b', 'device'])];
    expect(close({ person_uuid: ['u1'] }, rows, living({ u2: ['b'] }))).toEqual({
      identity: of({ person_uuid: ['u1'], distinct_id: ['a', 'device'] }),
      own: ['1'],
      naming: ['2'],
      emails: [],
      sharedWith: ['u2'],
    });
  });

  it('but not what was recorded under the subject’s distinct id, whoever it is shown with', () => {
    const rows = [person('1', 'u1', ['a']), recording('r', 'u2', ['a', 'b']), recording('other', 'u2', ['b', 'a'])];
    expect(close({ person_uuid: ['u1'] }, rows, living({ u2: ['b'] }))).toEqual({
      identity: of({ person_uuid: ['u1'], distinct_id: ['a'], recording_id: ['r'] }),
      own: ['1', 'r'],
      naming: ['other'],
      emails: [],
      sharedWith: ['u2'],
    });
  });

  it('also when it is learnt only later that the distinct id is the subject’s', () => {
    const rows = [
      person('1', 'u1', ['a']),
      recording('r', 'u2', ['later', 'a']),
      { ...person('lost', 'u1', ['later']) },
    ];
    expect(close({ distinct_id: ['a'] }, rows, living({ u2: ['b'] })).own).toEqual(['1', 'lost', 'r']);
  });

  it('such a recording leads to its copies in older files', () => {
    const rows = [
      person('1', 'u1', ['a']),
      recording('r', 'u2', ['a']),
      { ...recording('r', 'u1', ['former']), name: 'copy' },
    ];
    const { own, identity } = close({ person_uuid: ['u1'] }, rows, living({ u2: ['b'] }));
    expect(own).toEqual(['1', 'copy', 'r']);
    expect(identity.distinct_id).toEqual(['a', 'former']);
  });

  it('somebody who is a subject too is no other', () => {
    const rows = [person('1', 'u1', ['a', 'shared']), person('2', 'u2', ['shared'])];
    const nobodyElse: LivingOthers = { isLiving: () => false, ownerOf: () => 'u2', holdersOf: () => [] };
    expect(close({ person_uuid: ['u1'] }, rows, nobodyElse)).toMatchObject({ own: ['1', '2'], sharedWith: [] });
  });
});

describe('a row that shows a person without uuid and integer id', () => {
  const ann = { ...person('1', 'u1', ['a']), email: 'ann@x' };
  const nameless = { ...recording('r', null, ['anon']), email: 'ann@x' };
  const later = { ...nameless, name: 'copy' };

  it('is the subject’s by its e-mail address, and the distinct id that it was made under is not', () => {
    const rows = [ann, nameless, later, recording('other', null, ['anon']), person('2', 'u2', ['anon'])];
    const expected = { own: ['1', 'copy', 'r'], sharedWith: [] };
    for (const start of [{ person_uuid: ['u1'] }, { person_uuid: ['u1'], email: ['ann@x'] }])
      expect(close(start, rows)).toMatchObject(expected);
    const { identity } = close({ person_uuid: ['u1'] }, rows);
    expect(identity).toEqual(of({ person_uuid: ['u1'], distinct_id: ['a'], recording_id: ['r'] }));
    expect(close({ email: ['ann@x'] }, [nameless]).own).toEqual(['r']);
  });

  it('is left alone where a living person has the address, or had it', () => {
    const bob = { ...person('2', 'u2', ['b']), email: 'ann@x' };
    const others = living({ u1: ['a'], u2: ['b'] }, { 'ann@x': ['u1', 'u2'] });
    expect(close({ person_uuid: ['u1'] }, [ann, bob, nameless], others)).toMatchObject({
      own: ['1'],
      emails: [],
      sharedWith: ['u2'],
    });
    expect(close({ person_uuid: ['u1'] }, [ann, bob], others)).toMatchObject({ own: ['1'], sharedWith: [] });
    expect(close({ person_uuid: ['u1', 'u2'] }, [ann, bob, nameless], others).own).toEqual(['1', '2', 'r']);
  });

  it('tells of the other who had one of its two addresses, in whatever order the addresses are known', () => {
    const bob = { ...person('2', 'u2', ['b']), email: 'ann@x' };
    const formerly = { ...nameless, name: 'formerly', email: 'joann@x' };
    const others = living({ u1: ['a'], u2: ['b'] }, { 'ann@x': ['u1', 'u2'] });
    for (const email of [
      ['ann@x', 'joann@x'],
      ['joann@x', 'ann@x'],
    ])
      expect(close({ person_uuid: ['u1'], email }, [bob, nameless, formerly], others)).toMatchObject({
        own: ['formerly', 'r'],
        emails: ['joann@x'],
        sharedWith: ['u2'],
      });
  });

  it('is left alone where it shows a distinct id of another person', () => {
    const ofBob = { ...recording('r', null, ['anon', 'b']), email: 'ann@x' };
    const others = living({ u1: ['a'], u2: ['b'] }, { 'ann@x': ['u1'] });
    expect(close({ person_uuid: ['u1'] }, [ann, ofBob], others)).toMatchObject({ own: ['1'], sharedWith: ['u2'] });
  });

  it('is not the subject’s by another address, nor by none', () => {
    const rows = [ann, { ...nameless, email: 'joann@x' }, recording('r2', null, ['anon'])];
    expect(close({ person_uuid: ['u1'] }, rows).own).toEqual(['1']);
  });

  it('an address leads to nobody who has a uuid', () => {
    const again = { ...person('2', 'u2', ['b']), email: 'ann@x' };
    expect(close({ person_uuid: ['u1'] }, [ann, again]).own).toEqual(['1']);
    expect(close({ email: ['ann@x'] }, [again]).own).toEqual([]);
  });
});

it('a component of a hundred thousand rows is closed within seconds', () => {
  const rows = Array.from({ length: 100_000 }, (_, index) =>
    recording(`r${index}`, null, [`d${index}`, `d${index + 1}`]),
  );
  const { identity, own } = close({ distinct_id: ['d0'] }, rows);
  expect(own).toHaveLength(rows.length);
  expect(identity.distinct_id).toHaveLength(rows.length + 1);
});
