import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { planRetention } from '../../src/export/retention-plan.ts';
import type { FoundSnapshot } from '../../src/snapshot/published.ts';

const ids = ['1', '2', '3', '4', '5'];
const publish = (...found: string[]): FoundSnapshot[] => found.map((id) => ({ id, hasManifest: true }));

test.for([
  [1, ['1', '2', '3', '4']],
  [2, ['1', '2', '3']],
  [4, ['1']],
  [5, []],
  [100, []],
  [Infinity, []],
  [0, ['1', '2', '3', '4']],
] as const)('keeping %d of five: %j go', ([keep, expired]) => {
  expect(planRetention(publish(...ids), '5', keep)).toEqual({ abandoned: [], expired });
});

test('what is above the current one was never published', () => {
  expect(planRetention(publish(...ids), '3', 2)).toEqual({ abandoned: ['4', '5'], expired: ['1'] });
});

test('what has no manifest was never published, and does not count among those to keep', () => {
  const found = [...publish('1', '2', '4'), { id: '3', hasManifest: false }];
  expect(planRetention(found, '4', 2)).toEqual({ abandoned: ['3'], expired: ['1'] });
});

test('the current one stays, even damaged', () => {
  expect(planRetention([{ id: '1', hasManifest: false }], '1', 1)).toEqual({ abandoned: [], expired: [] });
});

test('where CURRENT was lost, every manifest stands for a published snapshot', () => {
  const found = [...publish('1', '2'), { id: '3', hasManifest: false }];
  expect(planRetention(found, undefined, 3)).toEqual({ abandoned: ['3'], expired: [] });
  expect(planRetention(found, undefined, 1)).toEqual({ abandoned: ['3'], expired: ['1'] });
});

const folders = fc.uniqueArray(
  fc.record({ id: fc.integer({ min: 1, max: 12 }).map(String), hasManifest: fc.boolean() }),
  { selector: ({ id }) => id },
);

test('for every state of the folder: no id in both lists, the current one in none, and as many stay as should', () => {
  fc.assert(
    fc.property(folders, fc.integer({ min: 0, max: 5 }), fc.nat(), (found, keep, pick) => {
      const currentId = found[pick % (found.length + 1)]?.id;
      const { abandoned, expired } = planRetention(found, currentId, keep);
      const gone = new Set([...abandoned, ...expired]);
      const published = found.filter(
        ({ id, hasManifest }) =>
          id === currentId || (hasManifest && (currentId === undefined || id < currentId)),
      );
      expect(gone.size).toBe(abandoned.length + expired.length);
      expect(gone.has(currentId ?? 'none')).toBe(false);
      expect(found.length - gone.size).toBe(Math.min(published.length, Math.max(1, keep)));
      for (const id of expired)
        for (const stays of published.filter((snapshot) => !gone.has(snapshot.id)))
          expect(id < stays.id).toBe(true);
    }),
    { numRuns: 1000 },
  );
});
