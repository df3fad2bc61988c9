import { expect, it } from 'vitest';
import type { LivingPerson } from '../../../src/erasure/upstream/look-up-person.ts';
import { latestOf, planPerson } from '../../../src/erasure/upstream/person-plan.ts';

const limits = { attemptsMax: 3, confirmations: 2, queues: false };
const known = { createdAt: '2025-01-01T00:00:00Z', persons: 1, sharedWith: ['approved'], going: new Set(['going']) };
const soon = '2025-06-04T12:05:00.000Z';

function look(...persons: LivingPerson[]) {
  return {
    living: new Map(persons.map((person) => [person.uuid, person])),
    leadsElsewhere: false,
    holders: [],
    isAskedById: true,
  };
}
const ann: LivingPerson = { uuid: 'a', ref: '1', createdAt: '2025-01-01T00:00:00.000000Z' };
const bob: LivingPerson = { uuid: 'b', ref: '2', createdAt: '2024-01-01T00:00:00Z' };
const again: LivingPerson = { uuid: 'a', ref: '9', createdAt: '2025-01-01T00:00:00.000001Z' };

const fresh = { status: 'pending', attempts: 0, confirmations: 0, notBefore: null, sentBy: null } as const;
const intended = { ...fresh, status: 'intended', attempts: 1 } as const;
const accepted = { ...fresh, status: 'waiting', attempts: 1 } as const;
const shown = { do: 'call', reason: 'outcome_unknown' };
const goes = { do: 'delete', living: [ann] };
const sentNoon = { ...accepted, sentBy: '2025-06-04T12:00:00.000Z' };
const holders = (uuid: string, time: string) => ({
  holders: [{ uuid, distinctId: 'd', createdAt: `2025-06-04T${time}Z` }],
});
const held = (uuid: string, time: string) => ({ ...look(), ...holders(uuid, time) });
const elsewhere = (uuid: string) => ({ do: 'call', reason: 'distinct_id_elsewhere', holders: [uuid] });

it.each([
  ['deletes who is there, in the order of uuids', fresh, look(bob, ann), { do: 'delete', living: [ann, bob] }],
  ['deletes even who is newer than known, the first time', fresh, look(again), { do: 'delete', living: [again] }],
  ['confirms who was never there', fresh, look(), { do: 'confirm' }],
  ['settles who was never there', { ...fresh, confirmations: 1 }, look(), { do: 'settle', result: 'already_absent' }],
  ['confirms who is gone after an intent', intended, look(), { do: 'confirm' }],
  ['settles who is gone often enough', { ...accepted, confirmations: 1 }, look(), { do: 'settle', result: 'deleted' }],
  ['sends an unknown outcome again', intended, look(ann), { do: 'delete', living: [ann] }],
  ['lets a deletion that was taken have its time', accepted, look(ann), { do: 'wait' }],
  ['but not for ever', { ...accepted, notBefore: soon }, look(ann), { do: 'delete', living: [ann] }],
  ['gives up after so many', { ...intended, attempts: 3 }, look(ann), shown],
  ['sees who was created again', accepted, look(again), { do: 'call', reason: 'recreated' }],
  [
    'sees it from attention, too',
    { ...intended, status: 'attention' as const },
    look(again),
    { do: 'call', reason: 'recreated' },
  ],
  ['stops at somebody else', fresh, { ...look(ann), leadsElsewhere: true }, shown],
  ['lets be who came by a distinct id since', sentNoon, held('new', '12:01:00.001'), { do: 'confirm' }],
  ['stops at who had one before', sentNoon, held('split', '11:59:59'), elsewhere('split')],
  ['or may have, by clocks that differ', sentNoon, held('split', '12:01:00'), elsewhere('split')],
  ['or at an unknown time', sentNoon, held('split', 'soon'), elsewhere('split')],
  ['or before an unknown time', accepted, held('split', '18:00:00'), elsewhere('split')],
  ['or before any deletion', fresh, { ...look(ann), ...holders('split', '18:00:00') }, elsewhere('split')],
  ['lets be whom an operator has approved', sentNoon, held('approved', '09:00:00'), { do: 'confirm' }],
  ['sends who shares with a person that goes too', fresh, { ...look(ann), ...holders('going', '09:00:00') }, goes],
  ['and waits for that one', sentNoon, held('going', '09:00:00'), elsewhere('going')],
  ['takes nobody for absent who may have been merged', fresh, held('going', '09:00:00'), elsewhere('going')],
  ['nor by lists alone for deleted', sentNoon, { ...held('new', '18:00:00'), isAskedById: false }, shown],
  ['takes nobody for absent by lists alone', fresh, { ...look(), isAskedById: false }, shown],
  ['nor for deleted', intended, { ...look(), isAskedById: false }, shown],
  ['but after the deletion was taken', accepted, { ...look(), isAskedById: false }, { do: 'confirm' }],
  ['deletes who is there by lists alone', fresh, { ...look(ann), isAskedById: false }, { do: 'delete', living: [ann] }],
] as const)('%s', (_what, target, seen, step) => {
  expect(planPerson(target, seen, known, limits)).toEqual(step);
});

it('confirms once where once is enough', () => {
  expect(planPerson(accepted, look(), known, { ...limits, confirmations: 1 })).toEqual({
    do: 'settle',
    result: 'deleted',
  });
});

it('lets a deletion whose answer is unknown have its time where the service queues', () => {
  const queuing = { ...limits, queues: true };
  expect(planPerson(intended, look(ann), known, queuing)).toEqual({ do: 'wait' });
  expect(planPerson({ ...intended, notBefore: soon }, look(ann), known, queuing).do).toBe('delete');
  expect(planPerson({ ...intended, status: 'pending' }, look(ann), known, queuing).do).toBe('delete');
  expect(planPerson(intended, look(again), known, queuing)).toEqual({ do: 'call', reason: 'recreated' });
});

it('sends as often for each person that the subject may be', () => {
  const target = { ...intended, attempts: 5 };
  expect(planPerson(target, look(ann), { ...known, persons: 2 }, limits).do).toBe('delete');
  expect(planPerson({ ...target, attempts: 6 }, look(ann), { ...known, persons: 2 }, limits)).toEqual(shown);
});

it('takes nobody for created again where no time is known', () => {
  expect(planPerson(intended, look(again), { ...known, createdAt: null }, limits).do).toBe('delete');
  expect(planPerson(intended, look({ ...ann, createdAt: null }), known, limits).do).toBe('delete');
});

it('knows the latest of some times, however they are written', () => {
  expect(latestOf([])).toBeNull();
  expect(latestOf([null, ann.createdAt, null])).toBe(ann.createdAt);
  expect(latestOf([again.createdAt, ann.createdAt, bob.createdAt])).toBe(again.createdAt);
});
