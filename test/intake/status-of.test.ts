import { expect, it } from 'vitest';
import { statusOf } from '../../src/intake/status-of.ts';
import { requestStates, type RequestReason } from '../../src/ledger/vocabulary.ts';

const about = {
  isAccess: false,
  isUnproved: false,
  request: '00000000-0000-4000-8000-000000000001',
  receivedAt: '2026-01-01T00:00:00.000Z',
  dueAt: '2026-01-31T00:00:00.000Z',
};
const before = Date.parse(about.dueAt) - 1;
const reasonOf = (state: string): RequestReason | null => (state === 'refused' ? 'unknown_subject' : null);
const ofAll = (tells: boolean, nowMs: number) =>
  requestStates.map((state) => {
    const ended = ['refused', 'cancelled', 'sealed'].includes(state) ? '2026-01-02T00:00:00.000Z' : null;
    return [state, statusOf({ ...about, state, reason: reasonOf(state), endedAt: ended }, tells, nowMs)] as const;
  });

it('before the due date every request has one status, whatever became of it', () => {
  const told = new Set(ofAll(false, before).map(([, status]) => JSON.stringify(status)));
  expect([...told].map((text) => JSON.parse(text) as object)).toEqual([
    {
      request: about.request,
      state: 'received',
      received_at: about.receivedAt,
      due_at: about.dueAt,
      outcome: null,
      ended_at: null,
    },
  ]);
});

it('from the due date on, those that ended have one status', () => {
  const told = ofAll(false, before + 1);
  const closed = told.filter(([, { state }]) => state === 'closed');
  expect(closed.map(([state]) => state)).toEqual(['refused', 'cancelled', 'sealed']);
  expect(new Set(closed.map(([, status]) => JSON.stringify(status))).size).toBe(1);
});

it('a sender who may learn the outcome learns it at the end', () => {
  const told = ofAll(true, before).filter(([, { outcome }]) => outcome !== null);
  expect(told.map(([, { outcome, state }]) => [outcome, state])).toEqual([
    ['nothing_held', 'closed'],
    ['cancelled', 'closed'],
    ['erased', 'closed'],
  ]);
  const again = { ...about, state: 'refused', reason: 'already_erased', endedAt: about.dueAt } as const;
  expect(statusOf(again, true, before).outcome).toBe('erased_before');
  const ended = { ...about, state: 'sealed', reason: null, endedAt: about.dueAt, isUnproved: true } as const;
  expect(statusOf(ended, true, before)).toMatchObject({ state: 'closed', outcome: 'not_proved' });
  const answered = { ...about, isAccess: true, state: 'sealed', reason: null, endedAt: about.dueAt } as const;
  expect(statusOf(answered, true, before).outcome).toBe('answered');
});
