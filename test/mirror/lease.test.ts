import { describe, expect, it } from 'vitest';
import { preparePageCommit } from './commit-page.ts';
import { setEpoch, whileEpoch } from '../../src/mirror/fence.ts';
import { changeRequest } from '../../src/mirror/erasure-requests.ts';
import { beatLease, readLease, releaseLease, takeLease, type LeaseHolder } from '../../src/mirror/lease.ts';
import { finishPass, startPass } from '../../src/mirror/passes.ts';
import { replacePlaylistRecordings } from '../../src/mirror/write-rows.ts';
import { prepareRemoveRow } from '../../src/mirror/remove-rows.ts';
import { finishRun, startRun } from '../../src/mirror/runs.ts';
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

describe('a stale holder, once somebody else has taken over', () => {
  const at = '2026-01-01T00:00:00Z';
  const plan = { dataset: 'persons', mode: 'full', plan: '{}', at } as const;

  /** Two connections to one mirror: the first held the lease and began a run and a pass, the second has it now. */
  function takenOver() {
    const { db: stale, dataDir } = openTestMirror();
    takeLease(stale, holder('a'), () => false);
    const run = startRun(stale, 'sync', at);
    const pass = startPass(stale, plan);
    const { db: present } = openTestMirror(dataDir);
    takeLease(present, holder('b'), () => true);
    return { stale, present, run, pass };
  }

  it.each([
    ['begin a run', ({ stale }) => startRun(stale, 'sync', at)],
    [
      'end a run',
      ({ stale, run }) =>
        finishRun(stale, { id: run, outcome: 'done', reason: null, requests: 0, counts: {}, at }),
    ],
    ['begin a pass', ({ stale }) => startPass(stale, plan)],
    [
      'commit a page',
      ({ stale, pass }) => preparePageCommit(stale, 'persons', pass)({ rows: [], quarantined: [], at }),
    ],
    ['end a pass', ({ stale, pass }) => finishPass(stale, pass, null, at)],
    ['remove a row', ({ stale }) => prepareRemoveRow(stale, 'persons')(1, 'deleted', at)],
    ['move a fence', ({ stale }) => setEpoch(stale, 7)],
    ['publish a snapshot', ({ stale }) => whileEpoch(stale, 0, () => undefined)],
    ['change a request', ({ stale }) => changeRequest(stale, 'x', { reason: null })],
    ['replace a playlist', ({ stale }) => replacePlaylistRecordings(stale, 'x', [])],
  ] satisfies [string, (around: ReturnType<typeof takenOver>) => unknown][])('cannot %s', (_what, write) => {
    const around = takenOver();
    expect(() => write(around)).toThrow(expect.objectContaining({ code: 'busy' }));
    expect(around.present.prepare(`SELECT outcome FROM runs`).pluck().all()).toEqual([null]);
    expect(around.present.prepare(`SELECT verdict FROM passes`).pluck().all()).toEqual([null]);
    expect(() => write({ ...around, stale: around.present })).not.toThrow(/took the data folder over/);
  });

  it('the token only grows, also over holders that gave the lease back', () => {
    const { db } = openTestMirror();
    const token = (): unknown => db.prepare(`SELECT token FROM lease_token`).pluck().get();
    for (const expected of [1, 2, 3]) {
      takeLease(db, holder('a'), () => false);
      expect(token()).toBe(expected);
      releaseLease(db, 'a');
    }
  });
});
