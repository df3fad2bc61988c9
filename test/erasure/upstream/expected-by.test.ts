import { describe, expect, it } from 'vitest';
import { Time } from '../../../src/ledger/record.ts';
import { eventsExpectedBy, overdueAtMs, serviceTimeMs } from '../../../src/erasure/upstream/events-plan.ts';

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
