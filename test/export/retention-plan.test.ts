import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { planRetention, type RetainedSnapshot } from '../../src/export/retention-plan.ts';

const ids = ['1', '2', '3', '4', '5'];
const publish = (...found: string[]): RetainedSnapshot[] =>
  found.map((id) => ({ id, hasManifest: true, kind: 'full' }));
const deltas = (...found: string[]): RetainedSnapshot[] =>
  found.map((id) => ({ id, hasManifest: true, kind: 'delta' }));
const unfinished = (id: string): RetainedSnapshot => ({ id, hasManifest: false, kind: 'full' });
const current = (...ids: string[]): readonly string[] => ids;

test.for([
  [1, ['1', '2', '3', '4']],
  [2, ['1', '2', '3']],
  [4, ['1']],
  [5, []],
  [100, []],
  [Infinity, []],
  [0, ['1', '2', '3', '4']],
] as const)('keeping %d of five: %j go', ([keep, expired]) => {
  expect(planRetention(publish(...ids), current('5'), keep)).toEqual({ abandoned: [], expired });
});

test('what is above the current one was never published', () => {
  expect(planRetention(publish(...ids), current('3'), 2)).toEqual({ abandoned: ['4', '5'], expired: ['1'] });
});

test('what has no manifest was never published, and does not count among those to keep', () => {
  const found = [...publish('1', '2', '4'), unfinished('3')];
  expect(planRetention(found, current('4'), 2)).toEqual({ abandoned: ['3'], expired: ['1'] });
});

test('the current one stays, even damaged', () => {
  expect(planRetention([unfinished('1')], current('1'), 1)).toEqual({ abandoned: [], expired: [] });
});

test('where CURRENT was lost, every manifest stands for a published snapshot', () => {
  const found = [...publish('1', '2'), unfinished('3')];
  expect(planRetention(found, [], 3)).toEqual({ abandoned: ['3'], expired: [] });
  expect(planRetention(found, [], 1)).toEqual({ abandoned: ['3'], expired: ['1'] });
});

test('deltas stay and go with the full snapshot that they go on from, and are none of those to keep', () => {
  const found = [...publish('1', '4', '7'), ...deltas('2', '3', '5', '6', '8', '9')];
  const now = current('7', '8', '9');
  expect(planRetention(found, now, 3)).toEqual({ abandoned: [], expired: [] });
  expect(planRetention(found, now, 2)).toEqual({ abandoned: [], expired: ['1', '2', '3'] });
  expect(planRetention(found, now, 1)).toEqual({ abandoned: [], expired: ['1', '2', '3', '4', '5', '6'] });
});

test('a delta that CURRENT does not name was never published', () => {
  expect(planRetention([...publish('1'), ...deltas('2', '3')], current('1', '2'), 3)).toEqual({
    abandoned: ['3'],
    expired: [],
  });
});

const folders = fc.uniqueArray(
  fc.record({
    id: fc.integer({ min: 1, max: 9 }).map(String),
    hasManifest: fc.boolean(),
    kind: fc.constantFrom('full', 'full', 'delta'),
  }),
  { selector: ({ id }) => id },
);

test('for every state of the folder: no id in both lists, what CURRENT names in none, and as many full ones stay as should', () => {
  fc.assert(
    fc.property(folders, fc.integer({ min: 0, max: 5 }), fc.nat(), (found, keep, pick) => {
      const full = found.filter(({ kind }) => kind === 'full');
      const id = full[pick % (full.length + 1)]?.id;
      const named = found.filter((one) => one.kind === 'delta' && id !== undefined && one.id > id && pick % 2 === 0);
      const now = id === undefined ? [] : current(id, ...named.map((delta) => delta.id));
      const { abandoned, expired } = planRetention(found, now, keep);
      const gone = new Set([...abandoned, ...expired]);
      const wasPublished = (one: RetainedSnapshot): boolean =>
        one.id === id || named.includes(one) || (one.hasManifest && (id === undefined || one.id < id));
      const published = found.filter(wasPublished);
      expect(gone.size).toBe(abandoned.length + expired.length);
      for (const kept of [id ?? 'none', ...named.map((delta) => delta.id)]) expect(gone.has(kept)).toBe(false);
      expect(new Set(abandoned)).toEqual(new Set(found.filter((one) => !wasPublished(one)).map((one) => one.id)));
      const publishedFull = published.filter(({ kind }) => kind === 'full');
      const staying = publishedFull.filter((one) => !gone.has(one.id));
      expect(staying).toHaveLength(Math.min(publishedFull.length, Math.max(1, keep)));
      for (const one of published)
        expect(gone.has(one.id)).toBe(staying.length > 0 && staying.every((kept) => one.id < kept.id));
    }),
    { numRuns: 1000 },
  );
});
