import { describe, expect, it } from 'vitest';
import type { ColumnValue } from '../../src/contract/tolerant-reader.ts';
import type { MirroredDataset } from '../../src/contract/datasets.ts';
import type { Database } from '../../src/mirror/database.ts';
import type { PageOutcome, ShownRows } from '../../src/mirror/write-rows.ts';
import { findUnfinishedPass, finishPass, noEvidence, startPass } from '../../src/mirror/passes.ts';
import { countQuarantine } from '../../src/mirror/quarantine.ts';
import { nominateSuspects } from '../../src/mirror/suspects.ts';
import { seenRows } from '../../src/mirror/seen.ts';
import { preparePageCommit } from './commit-page.ts';
import { openTestMirror } from './open-test-mirror.ts';

const uuid = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

type PersonFields = { id?: number | null; name?: string; distinctIds?: string[]; properties?: string; extra?: string };

function person(number: number, fields: PersonFields = {}): Record<string, ColumnValue> {
  return {
    uuid: uuid(number),
    id: fields.id === undefined ? number : fields.id,
    name: fields.name ?? `person ${number}`,
    distinct_ids: JSON.stringify(fields.distinctIds ?? [`d${number}`]),
    properties: fields.properties ?? '{}',
    created_at: '2026-01-01T00:00:00Z',
    extra: fields.extra ?? null,
  };
}

function openPass(dataset: MirroredDataset = 'persons') {
  const { db } = openTestMirror();
  let at = 0;
  const begin = () => {
    at += 1;
    const passId = startPass(db, { dataset, mode: 'full', plan: '{}', at: `2026-01-0${at}T00:00:00Z` });
    const commitPage = preparePageCommit(db, dataset, passId);
    const commit = (rows: ShownRows['rows'], quarantined: ShownRows['quarantined'] = []): PageOutcome =>
      commitPage({ rows, quarantined, at: `2026-01-0${at}T12:00:00Z` }, noEvidence, `{"pass":${passId}}`);
    return { passId, commit };
  };
  return { db, begin };
}

const owners = (db: Database): unknown[] =>
  db.prepare(`SELECT distinct_id, person_uuid FROM person_distinct_ids ORDER BY 1`).raw().all();
const changes = (db: Database): unknown[] => db.prepare(`SELECT key, at FROM changes ORDER BY seq`).raw().all();

describe('a page that enters the mirror', () => {
  it('adds new rows, replaces changed ones, and leaves equal ones untouched', () => {
    const { db, begin } = openPass();
    expect(begin().commit([person(1), person(2), person(3)])).toMatchObject({ received: 3, added: 3, changed: 0 });
    const second = begin();
    expect(second.commit([person(1), person(2, { name: 'renamed' }), person(3)])).toEqual({
      received: 3,
      added: 0,
      changed: 1,
      quarantined: 0,
      fenced: 0,
      cameAfter: 0,
      trimmed: 0,
      unchangedRun: 1,
      isQuarantineFull: false,
    });
    expect(db.prepare(`SELECT uuid, name, first_seen_pass, changed_at FROM persons ORDER BY uuid`).raw().all()).toEqual(
      [
        [uuid(1), 'person 1', 1, '2026-01-01T12:00:00Z'],
        [uuid(2), 'renamed', 1, '2026-01-02T12:00:00Z'],
        [uuid(3), 'person 3', 1, '2026-01-01T12:00:00Z'],
      ],
    );
    expect(changes(db)).toEqual([
      [uuid(1), '2026-01-01T12:00:00Z'],
      [uuid(2), '2026-01-01T12:00:00Z'],
      [uuid(3), '2026-01-01T12:00:00Z'],
      [uuid(2), '2026-01-02T12:00:00Z'],
    ]);
  });

  it('keeps the distinct ids of a person that is shown without the field, whatever else has changed', () => {
    const { db, begin } = openPass();
    begin().commit([person(1), person(2)]);
    const without = { distinct_ids: null };
    const outcome = begin().commit([
      { ...person(1, { name: 'renamed' }), ...without },
      { ...person(2), ...without },
    ]);
    expect(outcome).toMatchObject({ changed: 1, unchangedRun: 1 });
    expect(db.prepare(`SELECT name, distinct_ids FROM persons ORDER BY uuid`).raw().all()).toEqual([
      ['renamed', '["d1"]'],
      ['person 2', '["d2"]'],
    ]);
    expect(owners(db)).toEqual([
      ['d1', uuid(1)],
      ['d2', uuid(2)],
    ]);
  });

  it.each(['name', 'distinct_ids', 'properties', 'created_at', 'extra', 'id'])(
    'sees a change of %s alone',
    (column) => {
      const { begin } = openPass();
      begin().commit([person(1)]);
      const values: Record<string, ColumnValue> = { id: 77, created_at: '2020-01-01T00:00:00Z' };
      expect(begin().commit([{ ...person(1), [column]: values[column] ?? '["other"]' }]).changed).toBe(1);
    },
  );

  it('tells null from a value, both ways', () => {
    const { begin } = openPass();
    begin().commit([person(1)]);
    expect(begin().commit([{ ...person(1), properties: null }]).changed).toBe(1);
    expect(begin().commit([{ ...person(1), properties: null }]).changed).toBe(0);
    expect(begin().commit([person(1)]).changed).toBe(1);
  });

  it('keeps the integer id that an earlier answer has shown', () => {
    const { db, begin } = openPass();
    begin().commit([person(1, { id: 41 })]);
    expect(begin().commit([person(1, { id: null })]).changed).toBe(0);
    begin().commit([person(1, { id: null, name: 'renamed' })]);
    expect(db.prepare(`SELECT id, name FROM persons`).raw().get()).toEqual([41, 'renamed']);
  });

  it('keeps 64-bit integers exactly', () => {
    const { db, begin } = openPass();
    begin().commit([{ ...person(1), id: 9007199254740993n }]);
    expect(db.prepare(`SELECT CAST(id AS TEXT) FROM persons`).pluck().get()).toBe('9007199254740993');
    expect(begin().commit([{ ...person(1), id: 9007199254740993n }]).changed).toBe(0);
  });

  it('keeps the whole of a recording of which a list shows the part since its first day', () => {
    const recording = (start: string, fields: Record<string, ColumnValue> = {}) => ({
      id: 'over midnight',
      start_time: `2026-01-0${start}Z`,
      end_time: '2026-01-02T00:20:00Z',
      recording_duration: 1800,
      active_seconds: 9_007_199_254_740_993n,
      activity_score: 7.5,
      start_url: 'https://x.example/first',
      viewed: 0,
      ...fields,
    });
    const { db, begin } = openPass('recordings');
    begin().commit([recording('1T23:50:00')]);
    const part = { recording_duration: 1200, active_seconds: 3, activity_score: 1, start_url: null };
    const shown = (start: string, fields: Record<string, ColumnValue> = {}): unknown[] => {
      begin().commit([recording(start, fields)]);
      const columns = 'start_time, recording_duration, activity_score, start_url, viewed';
      const row = db.prepare(`SELECT ${columns}, CAST(active_seconds AS TEXT) FROM recordings`).raw().get();
      return row as unknown[];
    };
    const whole = ['2026-01-01T23:50:00Z', 1800, 7.5, 'https://x.example/first'];
    expect(shown('2T00:00:01', { ...part, viewed: 1 })).toEqual([...whole, 1, '9007199254740993']);
    expect(shown('2T00:00:01', { ...part, viewed: 1 })).toEqual([...whole, 1, '9007199254740993']);
    expect(changes(db)).toHaveLength(2);
    // It went on after it was seen as a whole: what is greater is of the part only, and nearer to the whole.
    const later = { ...part, recording_duration: 2000, end_time: '2026-01-02T00:33:20Z', viewed: 1 };
    expect(shown('2T00:00:01', later)).toEqual([whole[0], 2000, 7.5, whole[3], 1, '9007199254740993']);
    expect(db.prepare('SELECT end_time FROM recordings').pluck().get()).toBe(later.end_time);
    expect(shown('2T00:00:01', part)).toEqual([whole[0], 2000, 7.5, whole[3], 0, '9007199254740993']);
    // What comes late belongs to it.
    const longer = { recording_duration: 1860, active_seconds: 5 };
    expect(shown('1T23:49:00', longer)).toEqual(['2026-01-01T23:49:00Z', 1860, 7.5, whole[3], 0, '5']);
  });

  it('notes which pass saw a row last, changed or not', () => {
    const { db, begin } = openPass();
    begin().commit([person(1), person(2)]);
    begin().commit([person(2)]);
    const seen = db
      .prepare(`SELECT uuid, pass_id FROM ${seenRows('persons')} ORDER BY uuid`)
      .raw()
      .all();
    expect(seen).toEqual([
      [uuid(1), 1],
      [uuid(2), 2],
    ]);
  });

  it('saves the pass with the rows: counts grow, and the cursor is the last page’s', () => {
    const { db, begin } = openPass();
    const { commit } = begin();
    commit([person(1)]);
    commit([person(1), person(2)], [{ key: null, reason: 'bad', payload: '{}' }]);
    expect(findUnfinishedPass(db, 'persons', 'full')).toMatchObject({
      rowsReceived: 4,
      rowsAdded: 2,
      rowsChanged: 0,
      rowsQuarantined: 1,
      cursor: '{"pass":1}',
    });
  });

  it('enters whole or not at all', () => {
    const { db, begin } = openPass();
    const { commit } = begin();
    commit([person(1)]);
    expect(() => commit([person(2), { ...person(3), properties: 5, uuid: null }])).toThrow(/NOT NULL/);
    expect(db.prepare(`SELECT uuid FROM persons`).pluck().all()).toEqual([uuid(1)]);
    expect(changes(db)).toHaveLength(1);
    expect(commit([person(2)]).added).toBe(1);
  });

  it('is refused once its pass has been ended by another', () => {
    const { db, begin } = openPass();
    const { commit } = begin();
    begin();
    expect(() => commit([person(1)])).toThrow(/ended by somebody else/);
    expect(db.prepare(`SELECT count(*) FROM persons`).pluck().get()).toBe(0);
  });

  it('never commits into a finished pass', () => {
    const { db, begin } = openPass();
    const { passId, commit } = begin();
    expect(finishPass(db, passId, null, '2026-01-01T13:00:00Z')).toMatchObject({ verdict: 'complete', cursor: null });
    expect(() => commit([person(1)])).toThrow(/ended by somebody else/);
  });
});

describe('distinct ids', () => {
  it('are found by their person, and follow its list', () => {
    const { db, begin } = openPass();
    begin().commit([person(1, { distinctIds: ['a', 'b'] })]);
    begin().commit([person(1, { distinctIds: ['b', 'c'] })]);
    expect(owners(db)).toEqual([
      ['b', uuid(1)],
      ['c', uuid(1)],
    ]);
  });

  it('move to the person shown last, and leave the list of the one that held them (a merge)', () => {
    const { db, begin } = openPass();
    begin().commit([person(1, { distinctIds: ['a', 'b', 'c'] }), person(2, { distinctIds: ['x'] })]);
    begin().commit([person(2, { distinctIds: ['x', 'b'] })]);
    expect(owners(db)).toEqual([
      ['a', uuid(1)],
      ['b', uuid(2)],
      ['c', uuid(1)],
      ['x', uuid(2)],
    ]);
    expect(db.prepare(`SELECT distinct_ids, changed_at FROM persons ORDER BY uuid`).raw().all()).toEqual([
      ['["a","c"]', '2026-01-02T12:00:00Z'],
      ['["x","b"]', '2026-01-02T12:00:00Z'],
    ]);
    expect(changes(db).slice(2)).toEqual([
      [uuid(2), '2026-01-02T12:00:00Z'],
      [uuid(1), '2026-01-02T12:00:00Z'],
    ]);
  });

  it('leave each person that held them once, however many move', () => {
    const { db, begin } = openPass();
    const many = (number: number): string[] => Array.from({ length: 300 }, (_id, index) => `${number}-${index}`);
    begin().commit([
      person(1, { distinctIds: ['kept', ...many(1)] }),
      person(2, { distinctIds: many(2) }),
      person(3, { distinctIds: [] }),
    ]);
    begin().commit([person(3, { distinctIds: [...many(1), ...many(2)] })]);
    expect(changes(db).slice(3)).toEqual([
      [uuid(3), '2026-01-02T12:00:00Z'],
      [uuid(1), '2026-01-02T12:00:00Z'],
      [uuid(2), '2026-01-02T12:00:00Z'],
    ]);
    expect(db.prepare(`SELECT distinct_ids FROM persons WHERE uuid < ? ORDER BY uuid`).pluck().all(uuid(3))).toEqual([
      '["kept"]',
      '[]',
    ]);
    expect(db.prepare(`SELECT count(*) FROM distinct_ids_lost`).pluck().get()).toBe(600);
    expect(owners(db)).toEqual(
      [['kept', uuid(1)], ...[...many(1), ...many(2)].map((id) => [id, uuid(3)])].toSorted(([a = ''], [b = '']) =>
        a < b ? -1 : 1,
      ),
    );
  });

  it('that two persons show in every pass stay with one of them, and the feed rests', () => {
    const { db, begin } = openPass();
    const first = person(1, { distinctIds: ['a', 'both'] });
    const second = person(2, { distinctIds: ['both', 'b'] });
    begin().commit([first, second]);
    for (const order of [
      [first, second],
      [second, first],
      [first, second],
    ]) {
      const told = changes(db).length;
      const { commit } = begin();
      // Pages overlap: a person may be shown twice.
      expect(commit(order)).toMatchObject({ changed: 0, unchangedRun: 2 });
      expect(commit(order.slice(1))).toMatchObject({ changed: 0 });
      expect(changes(db)).toHaveLength(told);
    }
    expect(owners(db)).toContainEqual(['both', uuid(2)]);
    const renamed = begin().commit([{ ...first, name: 'renamed' }, second]);
    expect(renamed).toMatchObject({ changed: 1 });
    expect(owners(db)).toContainEqual(['both', uuid(2)]);
  });

  it('of a new person at the top go back once to the person below that still shows them', () => {
    const { db, begin } = openPass();
    const known = person(1, { distinctIds: ['both'] });
    const added = person(2, { distinctIds: ['both'] });
    begin().commit([known]);
    begin().commit([added, known]);
    expect(owners(db)).toEqual([['both', uuid(1)]]);
    expect(begin().commit([added, known])).toMatchObject({ changed: 0 });
    expect(begin().commit([known, added])).toMatchObject({ changed: 0 });
  });

  it.each([
    ['above', false],
    ['below', true],
  ])('return to the person %s the other when only that person still shows them', (_where, isBelow) => {
    const { db, begin } = openPass();
    const first = person(1, { distinctIds: ['a', 'both'] });
    const second = person(2, { distinctIds: ['both'] });
    for (let pass = 0; pass < 3; pass += 1) begin().commit([first, second]);
    const left = person(2, { distinctIds: [] });
    begin().commit(isBelow ? [left, first] : [first, left]);
    expect(owners(db)).toEqual([
      ['a', uuid(1)],
      ['both', uuid(1)],
    ]);
    expect(begin().commit([first, left])).toMatchObject({ changed: 0 });
    expect(db.prepare(`SELECT * FROM distinct_ids_lost`).all()).toEqual([]);
  });

  it('that a person no longer shows are taken back when it shows them again', () => {
    const { db, begin } = openPass();
    const first = person(1, { distinctIds: ['both'] });
    const second = person(2, { distinctIds: ['both'] });
    for (let pass = 0; pass < 2; pass += 1) begin().commit([first, second]);
    begin().commit([person(1, { distinctIds: [] }), second]);
    begin().commit([first]);
    expect(owners(db)).toEqual([['both', uuid(1)]]);
  });

  it('of a person that the list no longer shows go to the other one', () => {
    const { db, begin } = openPass();
    const first = person(1, { distinctIds: ['both'] });
    const second = person(2, { distinctIds: ['both'] });
    for (let pass = 0; pass < 2; pass += 1) begin().commit([first, second]);
    const { passId, commit } = begin();
    commit([first]);
    expect(
      nominateSuspects(db, 'persons', passId, { at: '2026-01-03T12:00:00Z', shownSince: null, listedSince: null }),
    ).toBe(1);
    begin().commit([first]);
    expect(owners(db)).toEqual([['both', uuid(1)]]);
  });

  it('stay with a person whose other fields change', () => {
    const { db, begin } = openPass();
    begin().commit([person(1, { distinctIds: ['a', 'a', 'b'] })]);
    begin().commit([person(1, { distinctIds: ['a', 'a', 'b'], name: 'renamed' })]);
    expect(owners(db)).toEqual([
      ['a', uuid(1)],
      ['b', uuid(1)],
    ]);
  });

  it('are compared exactly: case, blanks, NUL and quotes count', () => {
    const { db, begin } = openPass();
    const ids = ['Ann', 'ann', 'ann ', 'an\u0000n', `"'`];
    begin().commit([person(1, { distinctIds: ids })]);
    begin().commit([person(2, { distinctIds: ['an\u0000n'] })]);
    expect(owners(db)).toHaveLength(5);
    expect(db.prepare(`SELECT distinct_ids FROM persons WHERE uuid = ?`).pluck().get(uuid(1))).toBe(
      JSON.stringify(['Ann', 'ann', 'ann ', `"'`]),
    );
  });
});

describe('quarantine', () => {
  it('holds what could not be read, once, with the latest reason, and lets go of what could', () => {
    const { db, begin } = openPass();
    begin().commit([], [{ key: uuid(1), reason: 'first', payload: '{"a":1}' }]);
    begin().commit([], [{ key: uuid(1), reason: 'second', payload: '{"a":2}' }]);
    expect(db.prepare(`SELECT reason, payload, first_seen_pass, last_seen_pass FROM quarantine`).raw().all()).toEqual([
      ['second', '{"a":2}', 1, 2],
    ]);
    begin().commit([person(1)]);
    expect(countQuarantine(db)).toEqual({});
  });

  it('keeps rows without a key apart by their content', () => {
    const { db, begin } = openPass();
    const { commit } = begin();
    commit(
      [],
      [
        { key: null, reason: 'bad', payload: '1' },
        { key: null, reason: 'bad', payload: '2' },
      ],
    );
    commit([], [{ key: null, reason: 'bad', payload: '1' }]);
    expect(countQuarantine(db)).toEqual({ persons: 2 });
  });

  it('counts a mirrored row as seen even when it can no longer be read', () => {
    const { db, begin } = openPass();
    begin().commit([person(1)]);
    begin().commit([], [{ key: uuid(1), reason: 'bad', payload: '{}' }]);
    expect(db.prepare(`SELECT pass_id FROM persons_seen`).pluck().all()).toEqual([2]);
    expect(db.prepare(`SELECT name FROM persons`).pluck().all()).toEqual(['person 1']);
  });
});
