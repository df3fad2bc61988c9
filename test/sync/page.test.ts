import { describe, expect, it } from 'vitest';
import { datasets } from '../../src/contract/datasets.ts';
import { parseDeepJson } from '../../src/core/deep-json.ts';
import { KnownRow } from '../../src/mirror/fingerprints.ts';
import { readPage } from '../../src/sync/page.ts';
import { beginWalk, judgePage, type WalkStep } from '../../src/sync/walk-plan.ts';
import type { WalkPlan } from '../../src/sync/walk-windows.ts';

const window = { offset: 100, limit: 50 };
const uuid = '00000000-0000-4000-8000-000000000001';
const row = { id: 1, uuid, name: 'Ann', distinct_ids: ['a'], properties: {}, created_at: '2026-01-01T00:00:00.5Z' };

/** The person at a place of a list that is newest first. */
const personAt = (place: number) => ({
  ...row,
  uuid: `00000000-0000-4000-8000-${String(place).padStart(12, '0')}`,
  created_at: new Date(Date.UTC(2026, 0, 1) - place * 1000).toISOString(),
});

describe('a page of a list', () => {
  it('gives rows, keys and times in list order', () => {
    const page = readPage({ count: 1, next: null, previous: null, results: [row] }, window, 'persons');
    expect(page.rows).toEqual([
      {
        ...Object.fromEntries(datasets.persons.fields.map(({ name }) => [name, null])),
        id: 1,
        uuid,
        name: 'Ann',
        distinct_ids: '["a"]',
        properties: '{}',
        created_at: row.created_at,
        extra: null,
      },
    ]);
    expect(page.view).toEqual({
      keys: [uuid],
      times: [1767225600500000n],
      received: 1,
      isLast: true,
      nextOffset: null,
      count: 1,
    });
  });

  it('quarantines a row that cannot be read and goes on', () => {
    const page = readPage({ next: null, results: [{ ...row, distinct_ids: 5 }, 'not a row', row] }, window, 'persons');
    expect(page.rows).toHaveLength(1);
    expect(page.quarantined).toEqual([
      {
        key: uuid,
        reason: expect.stringContaining('distinct_ids') as string,
        payload: JSON.stringify({ ...row, distinct_ids: 5 }),
      },
      { key: null, reason: expect.stringContaining('row') as string, payload: '"not a row"' },
    ]);
  });

  it('quarantines a row that is nested too deeply and goes on', () => {
    const deep = `{"a":${'['.repeat(5000)}1${']'.repeat(5000)}}`;
    const text = JSON.stringify({ next: null, results: [{ ...row, properties: 'deep' }, row] });
    const page = readPage(parseDeepJson(text.replace('"deep"', deep), 200), window, 'persons');
    expect(page.rows).toHaveLength(1);
    expect(page.quarantined).toMatchObject([{ key: uuid, reason: 'row: nested deeper than service.jsonDepthMax' }]);
    expect(page.quarantined[0]?.payload).toContain('nested too deeply');
  });

  it('quarantines a row with a number of millions of digits and goes on', () => {
    const text = JSON.stringify({ next: null, results: [{ ...row, properties: { a: 'long' } }, row] });
    const page = readPage(parseDeepJson(text.replace('"long"', '9'.repeat(7_000_000)), 200), window, 'persons');
    expect(page.rows).toHaveLength(1);
    expect(page.quarantined).toMatchObject([{ key: uuid, reason: 'row: a number of more than 1,000 digits' }]);
    expect(page.quarantined[0]?.payload).toContain('{"a":"a number of too many digits"}');
  });

  it('quarantines a row of more characters than are stored', () => {
    const page = readPage({ results: [{ ...row, name: 'x'.repeat(2 ** 26) }] }, window, 'persons');
    expect(page.quarantined).toMatchObject([{ key: uuid, reason: 'row: more than 67,108,864 characters' }]);
  });

  it('takes nothing from an answer with more rows than were asked for', () => {
    const results = Array.from({ length: 51 }, () => row);
    const refusal = {
      code: 'service',
      finding: 'too_many_rows',
      message: expect.stringContaining('51 rows') as string,
    };
    expect(() => readPage({ results }, window, 'persons')).toThrow(expect.objectContaining(refusal));
    // A service may keep to the usual page where fewer rows were asked for.
    expect(readPage({ results }, window, 'persons', 51).rows).toHaveLength(51);
  });

  it('shows the walk a row that cannot be read, by its key and its time', () => {
    const second = '00000000-0000-4000-8000-000000000002';
    const third = '00000000-0000-4000-8000-000000000003';
    const fourth = '00000000-0000-4000-8000-000000000004';
    const results = [
      { ...row, uuid: third, created_at: 'soon' },
      { ...row, distinct_ids: 5 },
      'not a row',
      { ...row, uuid: second.toUpperCase(), created_at: 'late' },
      { ...row, uuid: fourth, created_at: '2026-01-01T00:00:00.4Z' },
    ];
    expect(readPage({ results }, window, 'persons').view).toMatchObject({
      keys: [third, uuid, second, fourth],
      // What has no time that can be read is as old as its neighbour above.
      times: [1767225600500000n, 1767225600500000n, 1767225600500000n, 1767225600400000n],
      received: 5,
    });
    expect(readPage({ results: results.slice(0, 1) }, window, 'persons').view.times).toEqual([null]);
    expect(readPage({ results: [{ ...row, created_at: null }] }, window, 'persons').view.times).toEqual([null]);
  });

  it.each([
    ['persons', 'created_at', (place: number) => personAt(place)],
    ['recordings', 'start_time', (place: number) => ({ id: `r${place}`, start_time: personAt(place).created_at })],
  ] as const)(
    'places a row of %s whose %s is null beside its neighbour, also where it is known',
    (dataset, time, rowAt) => {
      const [first, , ...others] = Array.from({ length: 12 }, (_none, index) => rowAt(index + 1));
      const timesOf = (...results: unknown[]) => readPage({ next: null, results }, window, dataset).view.times;
      const untimed = { ...rowAt(2), [time]: null };
      const times = timesOf(first, untimed, ...others);
      expect(times[1]).toBe(times[0]);
      expect(times[2]).toBeLessThan(times[0] ?? 0n);
      const known = Object.assign(Object.create(KnownRow.prototype) as KnownRow, { rowKey: 1, time: null });
      expect(timesOf(first, known, ...others)[1]).toBe(times[0]);
      // A list with many of them is sorted by something else.
      expect(timesOf(first, untimed)[1]).toBeNull();
    },
  );

  it('lets a walk go on over more unreadable rows in a row than the widest page has', () => {
    const plan: WalkPlan = {
      pageSize: 50,
      widestRows: 800,
      overlap: 'auto',
      windowsMax: 1000,
      restartsMax: 3,
      roundsMax: 5,
    };
    const person = (number: number) => ({ ...personAt(number), name: number >= 100 && number < 1500 ? 5 : 'Ann' });
    let step: WalkStep = { next: 'window', state: beginWalk(plan) };
    while (step.next === 'window') {
      const { offset, limit } = step.state.window;
      const end = Math.min(2000, offset + Math.min(50, limit));
      const results = Array.from({ length: end - offset }, (_row, index) => person(offset + index));
      const next = end < 2000 ? `/?offset=${end}` : null;
      const { view, rows, quarantined } = readPage({ results, next }, step.state.window, 'persons');
      step = judgePage(plan, step.state, view, rows.length + quarantined.length);
    }
    expect(step).toMatchObject({ reason: null, state: { evidence: { stepBacks: 0, isOrdered: true } } });
  });

  it.each([
    ['serves fewer rows than asked for', 1040, 1040],
    ['shows fewer rows than it counts', 1040, 997],
    ['shows fewer rows than it counts, all on one page', 100, 97],
  ])('is walked to its end where the service tells only a count, and %s', (_how, count, shown) => {
    const plan: WalkPlan = {
      pageSize: 2000,
      widestRows: 32_000,
      overlap: 'auto',
      windowsMax: 1000,
      restartsMax: 3,
      roundsMax: 1,
    };
    const seen = new Set<unknown>();
    let step: WalkStep = { next: 'window', state: beginWalk(plan) };
    while (step.next === 'window') {
      const { offset, limit } = step.state.window;
      const end = Math.min(shown, offset + Math.min(1000, limit));
      const results = Array.from({ length: Math.max(0, end - offset) }, (_row, index) => personAt(offset + index));
      const { view, rows } = readPage({ results, count }, step.state.window, 'persons');
      const before = seen.size;
      for (const key of view.keys) seen.add(key);
      expect(rows).toHaveLength(results.length);
      step = judgePage(plan, step.state, view, seen.size - before);
    }
    expect(step.reason).toBeNull();
    expect(seen.size).toBe(shown);
  });

  it.each([
    ['null next', { results: [], next: null }, true],
    ['a next page', { results: [], next: 'http://x/?offset=150' }, false],
    ['a short page with a next page', { results: [row], next: '/persons/?offset=150&limit=50' }, false],
    ['has_next false', { results: [row], has_next: false }, true],
    ['has_next false and a next', { results: [row], has_next: false, next: '?offset=150' }, false],
    ['has_next false and a next after no row', { results: [], has_next: false, next: '?offset=150' }, true],
    ['has_next true and null next', { results: [], has_next: true, next: null }, false],
    ['only a count that reaches further', { results: [row], count: 151 }, false],
    ['only a count that ends here', { results: [row], count: 150 }, true],
    ['nothing but rows', { results: [row] }, false],
    ['nothing at all', { results: [] }, true],
  ])('knows the end from %s', (_what, body, isLast) => {
    expect(readPage(body, window, 'persons').view.isLast).toBe(isLast);
  });

  it('takes only the offset out of next, whatever host it names', () => {
    const next = 'https://elsewhere.example/api/projects/9/persons/?limit=40&offset=140';
    expect(readPage({ results: [], next }, window, 'persons').view.nextOffset).toBe(140);
    expect(readPage({ results: [], next: 'https://x/?cursor=abc' }, window, 'persons').view.nextOffset).toBeNull();
  });

  it.each([100, 99, 0])('refuses a next page at offset %i that does not follow', (offset) => {
    expect(() => readPage({ results: [], next: `/?offset=${offset}` }, window, 'persons')).toThrow(/does not follow/);
  });

  it.each([
    ['text', '<html>login</html>'],
    ['undefined', undefined],
    ['null', null],
    ['an array', []],
    ['an object', {}],
    ['results that are no array', { results: {} }],
  ])('takes %s for an error, never for an empty list', (_what, body) => {
    expect(() => readPage(body, window, 'persons')).toThrow(/not a page/);
  });
});
