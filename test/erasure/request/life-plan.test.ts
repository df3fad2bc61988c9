import { describe, expect, it } from 'vitest';
import { isGivenUp, planLife } from '../../../src/erasure/request/life-plan.ts';
import type { FixedTarget } from '../../../src/ledger/target.ts';

const lifeFrom = '2026-01-01T00:00:00.000Z';
const at = '2026-01-02T00:00:00.000Z';
const limits = { nowMs: Date.parse('2026-03-02T00:00:00.000Z'), daysMax: 60 };
const fresh = { lifeFrom, generation: 1, fencedAt: null, verifiedAt: null, certifiedAt: null, sealedAt: null };
const fenced = { ...fresh, fencedAt: at };
const verified = { ...fenced, verifiedAt: at };
const target = (name: FixedTarget, status: 'done' | 'attention' | 'waiting', seenAt: string | null = null) => ({
  target: name,
  status,
  seenAt,
  reason: null,
});
const here = target('mirror', 'done');

describe('a request whose time is over', () => {
  it('is left alone a millisecond before', () => {
    expect(planLife(fresh, [], { ...limits, nowMs: limits.nowMs - 1 })).toEqual({ do: 'nothing' });
    expect(planLife(fresh, [], limits)).toEqual({ do: 'cancel' });
    expect(planLife({ ...fresh, lifeFrom: null }, [], limits)).toEqual({ do: 'nothing' });
  });

  it('counts anew where its identifiers had been destroyed', () => {
    expect(planLife({ ...fresh, generation: 2, lifeFrom: at }, [], limits)).toEqual({ do: 'nothing' });
    const later = { ...limits, nowMs: limits.nowMs + 86_400_000 };
    expect(planLife({ ...fresh, generation: 2, lifeFrom: at }, [], later)).toMatchObject({ do: 'end' });
  });

  it('is given up before its first fence, and ends before a later one', () => {
    const pending = [{ ...here, status: 'pending' } as const, target('upstream.events', 'waiting')];
    expect(planLife({ ...fresh, generation: 2 }, pending, limits)).toEqual({
      do: 'end',
      settled: [],
      unproved: ['mirror'],
      isProved: false,
    });
  });

  it('ends with what the service has not answered, and is proved where everything here is', () => {
    const unknown = { result: 'not_verifiable', assurance: 'not_verifiable' };
    expect(planLife(verified, [here, target('upstream.events', 'waiting')], limits)).toEqual({
      do: 'end',
      settled: [{ target: 'upstream.events', ...unknown }],
      unproved: [],
      isProved: true,
    });
  });

  it('says of whom the service showed last that the person is there', () => {
    expect(planLife(verified, [here, target('upstream.person', 'attention', at)], limits)).toMatchObject({
      settled: [{ target: 'upstream.person', result: 'still_present', assurance: 'observed' }],
    });
  });

  it('says of events of which the service showed no deletion that none was queued', () => {
    const events = { ...target('upstream.events', 'attention'), reason: 'events_not_queued' } as const;
    expect(planLife(verified, [here, events], limits)).toMatchObject({
      settled: [{ target: 'upstream.events', result: 'not_queued', assurance: 'not_verifiable' }],
    });
  });

  it('is not proved where something here is open, nor before a search has found nothing', () => {
    expect(planLife(fenced, [target('mirror', 'attention')], limits)).toMatchObject({
      unproved: ['mirror'],
      isProved: false,
    });
    expect(planLife(fenced, [here], limits)).toMatchObject({ unproved: [], isProved: false });
  });

  it('is given up where its life was over, and something was not done or not answered; else it is not', () => {
    const done = [{ target: 'upstream.person', result: 'deleted' }] as const;
    const late = [{ target: 'upstream.person', result: 'still_present' }] as const;
    const given = (
      certifiedAt: string | null,
      lifeEndedAt: string | null,
      targets: typeof done | typeof late,
    ): boolean => isGivenUp({ lifeFrom, cancelledAt: null, certifiedAt, lifeEndedAt }, () => targets, 1);
    expect([given(at, at, late), given(null, at, done)]).toEqual([true, true]);
    expect([given(at, at, done), given(at, null, late), given(null, null, late)]).toEqual([false, false, false]);
    const cancelled = { lifeFrom, certifiedAt: null, lifeEndedAt: null, cancelledAt: at };
    expect([1, 1e6].map((days) => isGivenUp(cancelled, () => [], days))).toEqual([true, false]);
  });

  it('that is certified or sealed is done', () => {
    expect(planLife({ ...verified, certifiedAt: at }, [here], limits)).toEqual({ do: 'nothing' });
    expect(planLife({ ...fenced, sealedAt: at }, [target('mirror', 'attention')], limits)).toEqual({ do: 'nothing' });
  });
});
