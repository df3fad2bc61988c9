import { expect, it } from 'vitest';
import { beatLease, readLease, releaseLease, takeLease, type LeaseHolder } from '../../src/mirror/lease.ts';
import { openTestMirror } from './open-test-mirror.ts';

const holder = (name: string): LeaseHolder => ({
  holder: name,
  job: 'sync',
  host: 'here',
  pid: 1,
  takenAt: '2026-01-01T00:00:00Z',
  beatAt: '2026-01-01T00:00:00Z',
});

it('has one holder at a time', () => {
  const { db } = openTestMirror();
  expect(takeLease(db, holder('a'), () => false).holder).toBe('a');
  expect(takeLease(db, holder('b'), () => false).holder).toBe('a');
  releaseLease(db, 'b');
  expect(readLease(db)?.holder).toBe('a');
  releaseLease(db, 'a');
  expect(takeLease(db, holder('b'), () => false).holder).toBe('b');
});

it('is taken over from a stale holder, which then learns that it lost it', () => {
  const { db } = openTestMirror();
  takeLease(db, holder('a'), () => false);
  expect(takeLease(db, holder('b'), (present) => present.holder === 'a').holder).toBe('b');
  expect(beatLease(db, 'a', '2026-01-01T00:01:00Z')).toBe(false);
  expect(beatLease(db, 'b', '2026-01-01T00:01:00Z')).toBe(true);
  expect(readLease(db)?.beatAt).toBe('2026-01-01T00:01:00Z');
});
