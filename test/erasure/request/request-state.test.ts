import { describe, expect, it } from 'vitest';
import { mayBecome } from '../../../src/erasure/request/target-journal.ts';
import { requestReason, requestState, type RequestFacts } from '../../../src/mirror/erasure-requests.ts';
import { isUpstream, readTarget, type Target } from '../../../src/ledger/target.ts';
import { type RequestState, type TargetStatus, requestStates, targetStatuses } from '../../../src/ledger/vocabulary.ts';

const factNames = [
  'scopedAt',
  'heldAt',
  'approvedAt',
  'refusedAt',
  'cancelledAt',
  'fencedAt',
  'verifiedAt',
  'certifiedAt',
  'sealedAt',
] as const satisfies (keyof RequestFacts)[];

type Targets = { target: Target; status: TargetStatus }[];
const names = ['mirror', 'upstream.person', 'upstream.events'] as const;

/** Every combination of facts that are there or not, and of what three targets are at. */
function* everyCase(): Generator<{
  facts: RequestFacts;
  has: (name: keyof RequestFacts) => boolean;
  targets: Targets;
}> {
  for (let bits = 0; bits < 2 ** factNames.length; bits += 1) {
    const has = (name: keyof RequestFacts): boolean => ((bits >> factNames.indexOf(name)) & 1) === 1;
    const facts = Object.fromEntries(
      factNames.map((name) => [name, has(name) ? '2026-11-20T12:00:00.000Z' : null]),
    ) as RequestFacts;
    for (const first of targetStatuses)
      for (const second of targetStatuses)
        for (const third of targetStatuses) {
          const statuses = [first, second, third];
          yield { facts, has, targets: names.map((target, index) => ({ target, status: statuses[index] ?? first })) };
        }
  }
}

/** What has to be true of a request in a state, in the words of the table of states. */
const meaning: Record<RequestState, (has: (name: keyof RequestFacts) => boolean, at: TargetStatus[]) => boolean> = {
  cancelled: (has) => has('cancelledAt'),
  refused: (has) => has('refusedAt') && !has('cancelledAt'),
  sealed: (has) => has('sealedAt'),
  received: (has) => !has('fencedAt') && !has('scopedAt'),
  scoped: (has) => !has('fencedAt') && has('scopedAt'),
  held: (has) => !has('fencedAt') && has('heldAt') && !has('approvedAt'),
  attention: (has, at) => has('fencedAt') && at.includes('attention'),
  certified: (has, at) => has('certifiedAt') && !at.includes('attention'),
  fenced: (has, [mirror]) => has('fencedAt') && mirror === 'pending',
  executing: (has, [mirror]) => has('fencedAt') && (mirror !== 'done' || !has('verifiedAt')),
  locally_verified: (has, [mirror]) => has('verifiedAt') && mirror === 'done',
  awaiting_upstream: (has, [mirror, person, events]) =>
    has('verifiedAt') && mirror === 'done' && person === 'done' && events === 'waiting',
};

describe('the state of a request', () => {
  it('is exactly one, and true of its facts and targets, in every combination of them', () => {
    const met = new Map<RequestState, number>();
    for (const { facts, has, targets } of everyCase()) {
      const state = requestState(facts, targets);
      met.set(state, (met.get(state) ?? 0) + 1);
      if (
        !meaning[state](
          has,
          targets.map(({ status }) => status),
        )
      )
        expect.fail(`${state} for ${JSON.stringify({ facts, targets })}`);
    }
    expect([...met.keys()].toSorted()).toEqual([...requestStates].toSorted());
    expect([...met.values()].reduce((sum, times) => sum + times)).toBe(2 ** 9 * 5 ** 3);
  });

  const at = '2026-11-20T12:00:00.000Z';
  const none = Object.fromEntries(factNames.map((name) => [name, null])) as RequestFacts;
  const all = (status: TargetStatus): Targets => names.map((target) => ({ target, status }));

  it.each<[RequestState, Partial<RequestFacts>, Targets]>([
    ['received', {}, []],
    ['scoped', { scopedAt: at }, []],
    ['held', { scopedAt: at, heldAt: at }, []],
    ['scoped', { scopedAt: at, heldAt: at, approvedAt: at }, []],
    ['refused', { scopedAt: at, refusedAt: at }, []],
    ['cancelled', { scopedAt: at, heldAt: at, cancelledAt: at }, []],
    ['fenced', { scopedAt: at, fencedAt: at }, all('pending')],
    ['executing', { scopedAt: at, fencedAt: at }, all('intended')],
    ['executing', { scopedAt: at, fencedAt: at }, all('done')],
    ['locally_verified', { scopedAt: at, fencedAt: at, verifiedAt: at }, all('done')],
    ['attention', { scopedAt: at, fencedAt: at, verifiedAt: at }, all('attention')],
    ['certified', { scopedAt: at, fencedAt: at, verifiedAt: at, certifiedAt: at }, all('done')],
    ['sealed', { scopedAt: at, fencedAt: at, verifiedAt: at, certifiedAt: at, sealedAt: at }, all('done')],
  ])('is %s on its way', (state, facts, targets) => {
    expect(requestState({ ...none, ...facts }, targets)).toBe(state);
  });

  it('waits for the service only when nothing is open but what the service deletes later', () => {
    const verified = { ...none, scopedAt: at, fencedAt: at, verifiedAt: at };
    const done = all('done').slice(0, 2);
    const events = { target: 'upstream.events', status: 'waiting' } as const;
    expect(requestState(verified, [...done, events])).toBe('awaiting_upstream');
    expect(requestState(verified, [...done, { target: 'upstream.recordings', status: 'waiting' }])).toBe(
      'awaiting_upstream',
    );
    expect(requestState(verified, [...done, { ...events, status: 'pending' }])).toBe('locally_verified');
    expect(requestState(verified, [...done, events, { target: 'upstream.playlists', status: 'pending' }])).toBe(
      'locally_verified',
    );
  });

  it('counts files among what is here', () => {
    const file = {
      target: readTarget('snapshot:persons/20261120T125500.123Z/part-00001.parquet'),
      status: 'pending',
    } as const;
    const verified = { ...none, scopedAt: at, fencedAt: at, verifiedAt: at };
    expect(isUpstream(file.target)).toBe(false);
    expect(requestState(verified, [...all('done'), file])).toBe('executing');
  });
});

describe('the status of a target', () => {
  const allowed = new Set(
    `pending>intended pending>waiting pending>attention pending>done
     intended>intended intended>pending intended>waiting intended>attention intended>done
     waiting>intended waiting>waiting waiting>attention waiting>done
     attention>pending attention>intended attention>waiting attention>attention attention>done`.split(/\s+/),
  );

  it.each(targetStatuses.flatMap((from) => targetStatuses.map((to) => [from, to] as const)))(
    'from %s to %s only where that is meant',
    (from, to) => {
      expect(mayBecome(from, to)).toBe(allowed.has(`${from}>${to}`));
    },
  );
});

describe('the reason of a state', () => {
  const held = { reason: 'too_many', certifiedAt: null, isAccess: false } as const;
  const open = [
    { status: 'done', reason: null },
    { status: 'attention', reason: 'recreated' },
  ] as const;

  it.each<[string | null, Parameters<typeof requestReason>]>([
    ['recreated', [held, 'attention', open]],
    ['too_many', [held, 'held', open]],
    ['too_many', [held, 'refused', []]],
    ['life_exceeded', [held, 'sealed', open]],
    [null, [{ ...held, certifiedAt: 'x' }, 'sealed', []]],
    [null, [held, 'scoped', []]],
    [null, [{ ...held, isAccess: true }, 'sealed', []]],
  ])('is %s', (reason, of) => {
    expect(requestReason(...of)).toBe(reason);
  });
});
