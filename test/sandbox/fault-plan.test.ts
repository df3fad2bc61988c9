import { expect, it } from 'vitest';
import { deepPage, planFault, type FaultKind, type FaultTarget } from '../../src/sandbox/faults/fault-plan.ts';

const target: FaultTarget = { requestNumber: 1, method: 'GET', isList: true, offset: 0, limit: 10 };
const plans = (kind: FaultKind, share: number, seed = 1): (string | undefined)[] =>
  Array.from(
    { length: 2000 },
    (_, requestNumber) => planFault({ kind, share, seed, holdMs: 1000 }, { ...target, requestNumber })?.fault,
  );

it('strikes the asked share of the requests, the same ones for the same seed', () => {
  const struck = plans('500', 0.15);
  const count = struck.filter((fault) => fault !== undefined).length;
  expect(count).toBeGreaterThan(250);
  expect(count).toBeLessThan(350);
  expect(plans('500', 0.15)).toEqual(struck);
  expect(plans('500', 0.15, 2)).not.toEqual(struck);
  expect(plans('500', 0).every((fault) => fault === undefined)).toBe(true);
  expect(plans('500', 1).every((fault) => fault === '500')).toBe(true);
});

it('mixes only what can be survived by trying again', () => {
  expect(new Set(plans('mixed', 1))).toEqual(
    new Set('429 500 502 503 504 512 cut empty garbage html reset slow'.split(' ')),
  );
});

it.each(['bad-row', 'next-stuck', 'next-back', 'next-elsewhere'] as const)('%s strikes lists alone', (kind) => {
  const options = { kind, share: 1, seed: 1, holdMs: 1000 };
  expect(planFault(options, target)?.fault).toBe(kind);
  expect(planFault(options, { ...target, isList: false })).toBeUndefined();
});

it('timeout-after-act strikes DELETE alone', () => {
  const options = { kind: 'timeout-after-act', share: 1, seed: 1, holdMs: 1000 } as const;
  expect(planFault(options, { ...target, method: 'DELETE' })?.fault).toBe('timeout-after-act');
  expect(planFault(options, target)).toBeUndefined();
});

it('deep strikes large pages at large offsets, always', () => {
  const options = { kind: 'deep', share: 0, seed: 1, holdMs: 1000 } as const;
  const deep = { ...target, offset: deepPage.offset, limit: deepPage.limitMax + 1 };
  expect(planFault(options, deep)?.fault).toBe('deep');
  expect(planFault(options, { ...deep, limit: deepPage.limitMax })).toBeUndefined();
  expect(planFault(options, { ...deep, offset: deepPage.offset - 1 })).toBeUndefined();
});
