import { expect, test } from 'vitest';
import { nextSnapshotId, snapshotIdPattern } from '../../src/snapshot/file-names.ts';

const noonMs = Date.UTC(2026, 10, 20, 12, 55, 0, 123);

test('an id is the UTC time, safe in file names', () => {
  expect(nextSnapshotId(noonMs, undefined)).toBe('20261120T125500.123Z');
  expect(nextSnapshotId(noonMs, '20261120T125500.122Z')).toBe('20261120T125500.123Z');
});

test('ids are unique within a millisecond, and ascend though the clock is set back', () => {
  let latest: string | undefined;
  const clock = [noonMs, noonMs, noonMs - 3_600_000, noonMs + 1, Date.UTC(2026, 11, 31, 23, 59, 59, 999)];
  const ids = clock.map((nowMs) => (latest = nextSnapshotId(nowMs, latest)));
  expect(ids).toEqual([
    '20261120T125500.123Z',
    '20261120T125500.124Z',
    '20261120T125500.125Z',
    '20261120T125500.126Z',
    '20261231T235959.999Z',
  ]);
  expect(nextSnapshotId(0, latest)).toBe('20270101T000000.000Z');
  for (const id of ids) expect(id).toMatch(snapshotIdPattern);
});
