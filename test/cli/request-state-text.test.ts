import { expect, it } from 'vitest';
import { requestStateText } from '../../src/cli/request-state-text.ts';

it('says a state in the words of the pages, with the reason or what it waits for', () => {
  expect(requestStateText({ state: 'scoped' })).toBe('found, not begun');
  expect(requestStateText({ state: 'locally_verified' })).toBe('erased here');
  expect(requestStateText({ state: 'held', reason: 'several_persons' })).toBe('held for approval: several persons');
  expect(requestStateText({ state: 'refused', reason: 'already_erased', erasedBy: 'r-1' })).toBe(
    'refused: already erased, by request r-1',
  );
  expect(
    requestStateText({ state: 'received', waitsFor: 'service_unreachable', waitsSince: '2026-01-02T03:04:05.678Z' }),
  ).toBe('received: service unreachable since 2026-01-02 03:04:05 UTC');
});
