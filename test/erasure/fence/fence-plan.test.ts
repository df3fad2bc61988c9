import { describe, expect, it } from 'vitest';
import { planFence, type Candidate } from '../../../src/erasure/fence/fence-plan.ts';

function candidate(id: string, facts: Partial<Candidate> = {}): Candidate & { id: string } {
  const plain = { isApproved: false, isFound: true, isShared: false, erasedBy: null } as const;
  return {
    id,
    ...plain,
    personsNamed: 1,
    isNamedAnew: false,
    persons: 1,
    isUnasked: false,
    isOneOfTooMany: false,
    ...facts,
  };
}

/** What is decided about each, in short. */
function plan(candidates: (Candidate & { id: string })[], maxBatch = 10): string[] {
  return planFence(candidates, maxBatch).map((decision, index) =>
    [candidates[index]?.id, decision.decision, 'reason' in decision ? decision.reason : ''].join(' ').trim(),
  );
}

describe('one request', () => {
  it.each<[string, Partial<Candidate>]>([
    ['a fence', {}],
    ['a hold shared_identifier', { isShared: true }],
    ['a fence', { isShared: true, isApproved: true }],
    ['a hold several_persons', { personsNamed: 2 }],
    ['a hold several_persons', { personsNamed: 2, isShared: true }],
    ['a fence', { personsNamed: 2, isApproved: true }],
    ['a hold several_persons', { personsNamed: 3, isApproved: true, isNamedAnew: true }],
    ['a fence', { personsNamed: 1, isApproved: true, isNamedAnew: true }],
    ['a fence', { personsNamed: 0, persons: 0 }],
    ['a refuse unknown_subject', { isFound: false }],
    ['a refuse already_erased', { isFound: false, erasedBy: 'b' }],
    ['a refuse unknown_subject', { isFound: false, isApproved: true, isShared: true }],
    ['a wait service_not_asked', { isFound: null }],
    ['a wait service_not_asked', { isFound: null, isApproved: true }],
  ])('%s', (decision, facts) => {
    expect(plan([candidate('a', facts)])).toEqual([decision]);
  });
});

describe('many requests at once', () => {
  const many = (count: number, facts: Partial<Candidate> = {}) =>
    Array.from({ length: count }, (_, index) => candidate(String(index), facts));

  it('go on as long as they are no more than one may fence at once', () => {
    expect(new Set(planFence(many(10), 10).map(({ decision }) => decision))).toEqual(new Set(['fence']));
  });

  it('are all held when they are more', () => {
    const decisions = planFence(many(11), 10);
    expect(decisions.every((one) => one.decision === 'hold' && one.reason === 'too_many')).toBe(true);
  });

  it('are all held when they are of more persons, each for one at least', () => {
    expect(plan([...many(2, { persons: 0 }), candidate('x', { persons: 2 })], 4)).toEqual([
      '0 fence',
      '1 fence',
      'x fence',
    ]);
    expect(plan([...many(2, { persons: 0 }), candidate('x', { persons: 3 })], 4)).toEqual([
      '0 hold too_many',
      '1 hold too_many',
      'x hold too_many',
    ]);
  });

  it('are counted without those that do not go on, and without those approved', () => {
    const others = [
      candidate('x', { isShared: true }),
      candidate('y', { isFound: false }),
      candidate('z', { isFound: null }),
    ];
    expect(plan([...many(2), ...others], 2)).toEqual([
      '0 fence',
      '1 fence',
      'x hold shared_identifier',
      'y refuse unknown_subject',
      'z wait service_not_asked',
    ]);
    expect(plan([...many(2), candidate('x', { isApproved: true })], 1)).toEqual([
      '0 hold too_many',
      '1 hold too_many',
      'x fence',
    ]);
  });

  it('stay held, and hold nobody who comes later', () => {
    const held = many(11, { isOneOfTooMany: true });
    expect(plan([...held, candidate('x')]).filter((each) => each.endsWith('fence'))).toEqual(['x fence']);
    expect(plan(held.slice(0, 2))).toEqual(['0 hold too_many', '1 hold too_many']);
  });

  it('are not those that the service deleted by itself: a request of a person never waits for them', () => {
    const deleted = many(11, { isUnasked: true });
    expect(new Set(planFence([...deleted, candidate('x')], 10).map(({ decision }) => decision))).toEqual(
      new Set(['fence']),
    );
    const asked = Array.from({ length: 11 }, (_, index) => candidate(`x${index}`));
    expect(plan([...deleted, ...asked]).filter((each) => each.endsWith('hold too_many'))).toHaveLength(11);
  });
});
