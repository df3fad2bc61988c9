import { describe, expect, it } from 'vitest';
import { isoToMicros } from '../../../src/core/time.ts';
import { Time } from '../../../src/ledger/record.ts';
import {
  eventsExpectedBy,
  judgeDeletions,
  overdueAtMs,
  ownAfterAnswer,
  ownAfterOf,
  planSending,
  serviceTimeMs,
  type QueuedDeletion,
} from '../../../src/erasure/upstream/events-plan.ts';

const ms = (iso: string): number => Date.parse(iso);
/** Queued on Monday; the batch is on Sunday 2025-06-08 at 05:00. */
const monday = '2025-06-02T09:00:00.123456Z';
const thursday = '2025-06-05T12:00:00.000Z';
const mondayIsExpectedBy = '2025-06-09T05:00:00.000Z';
const far = '2025-07-30T00:00:00.000Z';

function row(queuedAt: string, verifiedAt?: string, person = 'a'): QueuedDeletion {
  const queuedMicros = isoToMicros(queuedAt) ?? 0n;
  const verifiedMicros = isoToMicros(verifiedAt ?? '');
  return { person, queuedMicros, isCompleted: verifiedAt !== undefined, verifiedMicros };
}

describe('before the first deletion is sent', () => {
  const plan = (rows: QueuedDeletion[], service = thursday, now = service, deadline = far) =>
    planSending(rows, { serviceMs: ms(service), nowMs: ms(now), deadlineMs: ms(deadline) });

  it('is sent where there is no other row, or none that waits', () => {
    expect(plan([])).toEqual({ do: 'send', isEarlier: false });
    expect(plan([row('2025-05-12T09:00:00Z', '2025-05-18T05:00:00Z')])).toEqual({ do: 'send', isEarlier: true });
  });

  it('waits for a row that waits, until that is overdue by the clock of the service', () => {
    const wait = { do: 'wait', expectedBy: mondayIsExpectedBy };
    expect(plan([row(monday)])).toEqual(wait);
    expect(plan([row(monday)], '2025-06-16T04:59:59.999Z')).toEqual(wait);
    expect(plan([row(monday)], '2025-06-16T05:00:00.000Z')).toEqual({ do: 'send', isEarlier: true });
    expect(plan([row(monday)], '2025-06-16T04:59:59.999Z', '2025-06-20T00:00:00.000Z')).toEqual(wait);
  });

  it('waits no longer than the request may, and not at all where the row is done too late', () => {
    const deadline = '2025-06-10T00:00:00.000Z';
    expect(plan([row(monday)], thursday, '2025-06-09T23:59:59.999Z', deadline).do).toBe('wait');
    expect(plan([row(monday)], thursday, deadline, deadline).do).toBe('send');
    expect(plan([row(monday)], thursday, thursday, '2025-06-09T04:59:59.999Z').do).toBe('send');
  });
});

describe('the time after which a row can be its own', () => {
  it("is some seconds before the service's time, or that of the newest row, to the microsecond", () => {
    expect(ownAfterOf([], ms(thursday))).toBe('2025-06-05T11:59:55.000000Z');
    expect(ownAfterOf([row(monday)], ms(thursday))).toBe('2025-06-05T11:59:55.000000Z');
    const justNow = '2025-06-05T11:59:58.765432Z';
    expect(ownAfterOf([row(monday), row(justNow)], ms(thursday))).toBe(justNow);
  });

  it('is that of the newest row where the service tells no time, or a wrong one', () => {
    expect(ownAfterOf([row(monday)], undefined)).toBe(monday);
    expect(ownAfterOf([row(monday)], 0)).toBe(monday);
    expect(ownAfterOf([], undefined)).toBe('1970-01-01T00:00:00.000000Z');
  });

  it('is later where the answer shows that the deletion was sent later', () => {
    const before = '2025-06-05T11:59:55.000000Z';
    expect(ownAfterAnswer(before, ms(thursday) + 60_000, 180_000)).toBe(before);
    expect(ownAfterAnswer(before, ms(thursday) + 3_600_000, 180_000)).toBe('2025-06-05T12:56:55.000Z');
  });
});

describe('what the service shows afterwards', () => {
  const ownAfter = '2025-06-05T11:59:55.000Z';
  const judge = (rows: QueuedDeletion[], persons = 1) => judgeDeletions(rows, { ownAfter, persons });
  const batch = '2025-06-08T05:00:00Z';
  const own = '2025-06-05T12:00:00.000001Z';

  it('is its own where a row is newer, done or not', () => {
    expect(judge([row(own)])).toEqual({ found: 'own', isCompleted: false, queuedAtMs: ms(thursday) });
    expect(judge([row(own, batch)])).toMatchObject({ found: 'own', isCompleted: true });
    // A later row, of the person who came back, takes nothing from it.
    expect(judge([row(own, batch), row('2025-06-09T00:00:00Z')])).toMatchObject({ found: 'own', isCompleted: true });
  });

  it('is nothing where a row was done before, by one microsecond or by weeks', () => {
    expect(judge([])).toEqual({ found: 'none' });
    expect(judge([row('2025-05-12T09:00:00Z', '2025-05-18T05:00:00Z')])).toEqual({ found: 'none' });
    expect(judge([row(monday, ownAfter)])).toEqual({ found: 'none' });
  });

  it('is a part where an older row waited, up to the time of that row', () => {
    const until = '2025-06-02T09:00:00.123Z';
    expect(judge([row(monday)])).toEqual({ found: 'part', isCompleted: false, until });
    expect(judge([row(monday, batch)])).toEqual({ found: 'part', isCompleted: true, until });
  });

  it('is a part where only some persons have a row of their own', () => {
    const rows = [row(own, batch, 'a'), row(monday, batch, 'b')];
    expect(judge(rows, 2)).toEqual({ found: 'part', isCompleted: true, until: '2025-06-02T09:00:00.123Z' });
    expect(judge(rows.slice(0, 1), 2)).toEqual({ found: 'part', isCompleted: true, until: null });
    expect(judge([row(own, batch, 'a'), row(own, undefined, 'b')], 2)).toMatchObject({
      found: 'own',
      isCompleted: false,
    });
    expect(judge([row(own, batch, 'a'), row(own, batch, 'b')], 2)).toMatchObject({ found: 'own', isCompleted: true });
  });
});

describe('when events should be gone', () => {
  it.each([
    ['a Wednesday', '2025-06-04T12:00:00.000Z', '2025-06-09T05:00:00.000Z'],
    ['just before the batch', '2025-06-08T04:59:59.999Z', '2025-06-09T05:00:00.000Z'],
    ['at the batch, too late for it', '2025-06-08T05:00:00.000Z', '2025-06-16T05:00:00.000Z'],
    ['just after the batch', '2025-06-08T05:00:00.001Z', '2025-06-16T05:00:00.000Z'],
    ['a Sunday at midnight', '2025-06-08T00:00:00.000Z', '2025-06-09T05:00:00.000Z'],
    ['the last second of a Saturday', '2025-06-07T23:59:59.000Z', '2025-06-09T05:00:00.000Z'],
    ['over the end of a year', '2024-12-31T23:59:59.999Z', '2025-01-06T05:00:00.000Z'],
    ['over a leap day', '2024-02-28T00:00:00.000Z', '2024-03-04T05:00:00.000Z'],
    ['over a change of the clocks elsewhere', '2025-03-28T00:00:00.000Z', '2025-03-31T05:00:00.000Z'],
  ])('%s', (_what, acceptedAt, expected) => {
    expect(eventsExpectedBy(Date.parse(acceptedAt))).toBe(expected);
  });

  it.each([Date.parse('9999-12-31T23:59:59.999Z'), 8_640_000_000_000_000])(
    'is a time that the ledger takes, whatever the service says (%d)',
    (acceptedAtMs) => {
      expect(Time.safeParse(eventsExpectedBy(acceptedAtMs)).success).toBe(true);
    },
  );

  it('is overdue once the second batch has had its day as well', () => {
    expect(overdueAtMs('2025-06-09T05:00:00.000Z')).toBe(Date.parse('2025-06-16T05:00:00.000Z'));
  });
});

describe("the service's time", () => {
  it.each([
    ['Wed, 04 Jun 2025 12:00:00 GMT', Date.parse('2025-06-04T12:00:00Z')],
    ['nonsense', undefined],
    ['', undefined],
    [undefined, undefined],
    ['Sat, 13 Sep 275760 00:00:00 GMT', undefined],
  ])('%s', (date, timeMs) => {
    expect(serviceTimeMs(date)).toBe(timeMs);
  });
});
