import { expect, it } from 'vitest';
import type { Service } from '../../src/client/service.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import type { Clock } from '../../src/core/clock.ts';
import { AppError } from '../../src/core/errors.ts';
import { reconcileAbsence, type AbsenceResult } from '../../src/sync/absence.ts';
import { finishPass, startPass } from '../../src/mirror/passes.ts';
import { listExpiredRecordings } from '../../src/mirror/remove-rows.ts';
import { nominateSuspects } from '../../src/mirror/suspects.ts';
import { openTestMirror, stillClock } from '../mirror/open-test-mirror.ts';

const noService: Service = {
  requestCount: () => 0,
  call: () => Promise.reject(new Error('nobody is to be asked')),
  heard: () => ({ dateMs: stillClock.now(), sentAtMs: stillClock.now(), answeredAtMs: stillClock.now() }),
};

/** The newest pass's list begins here. */
const since = '2025-12-02T00:00:00.000000Z';

/** A mirror with recordings from just before the oldest moment that is kept, and from that moment. */
function setUp({ old, young }: { old: number; young: number }) {
  const { db } = openTestMirror();
  const insert = db.prepare(
    `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < @count)
     INSERT INTO recordings (id, start_time, first_seen_pass, changed_at) SELECT @start || n, @start, 1, @start FROM numbers`,
  );
  insert.run({ start: '2025-12-01T23:59:59.999Z', count: old });
  insert.run({ start: '2025-12-02T00:00:00.000Z', count: young });
  for (const at of ['2025-12-20T00:00:00Z', '2026-01-01T00:00:00Z'])
    finishPass(db, startPass(db, { dataset: 'recordings', mode: 'full', plan: '{}', at }), null, at);
  // The newest pass saw the young ones only.
  db.exec(`INSERT INTO recordings_seen SELECT row_key, row_key, 1 + (start_time >= '2025-12-02') FROM recordings`);
  const controller = new AbortController();
  const reconcile = (clock: Clock = stillClock, retentionDays: number | null = 30): Promise<AbsenceResult> => {
    const { settings } = loadSettings({}, { set: [{ path: 'recordings.retentionDays', value: retentionDays }] });
    return reconcileAbsence({ db, service: noService, settings, clock, signal: controller.signal });
  };
  const count = (table: string): unknown => db.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
  return { db, controller, reconcile, count };
}

it('lets go of recordings that the service keeps no longer, without asking, and says so', async () => {
  const { db, reconcile, count } = setUp({ old: 2500, young: 7 });
  expect(await reconcile()).toMatchObject({ expired: 2500, asked: 0, held: [] });
  expect(count('recordings')).toBe(7);
  expect(db.prepare(`SELECT dataset, reason, count(*) FROM deletions GROUP BY 1, 2`).raw().all()).toEqual([
    ['recordings', 'expired', 2500],
  ]);
  expect(count(`changes WHERE op = 'delete'`)).toBe(2500);
  expect(await reconcile()).toMatchObject({ expired: 0 });
});

it('keeps those that the service lists longer than it promises', async () => {
  const { db, reconcile, count } = setUp({ old: 12, young: 7 });
  db.exec(`UPDATE recordings_seen SET pass_id = 2 WHERE to_key <= 5`);
  expect(await reconcile()).toMatchObject({ expired: 7 });
  expect(count('recordings')).toBe(12);
});

it('stops between two transactions, and goes on another time', async () => {
  const { controller, reconcile, count } = setUp({ old: 2500, young: 7 });
  let readings = 0;
  const stopping: Clock = {
    ...stillClock,
    now: () => {
      readings += 1;
      if (readings === 3) controller.abort(new AppError('stop', { code: 'interrupted' }));
      return stillClock.now();
    },
  };
  await expect(reconcile(stopping)).rejects.toThrow('stop');
  expect(count('recordings')).toBe(1507);
  expect(count('deletions')).toBe(1000);
});

it.each([
  ['2025-12-31T00:00:00Z', 3],
  ['2025-12-31T00:00:00.5+00:00', 3],
  ['2026-01-02T00:00:00Z', 0],
  ['soon', 0],
  [null, 0],
])(
  'lets go, without asking, of those that say themselves that they are over (%s) and are listed no more: %i',
  async (expiry, expired) => {
    const { db, reconcile, count } = setUp({ old: 1, young: 6 });
    // One can be kept for less time than an older one. Of these, the first is older than what is listed, and the last is still listed.
    db.exec(`UPDATE recordings_seen SET pass_id = 1 WHERE to_key <= 3`);
    db.prepare(`UPDATE recordings SET extra = ? WHERE row_key <= 4`).run(JSON.stringify({ expiry_time: expiry }));
    expect(
      nominateSuspects(db, 'recordings', 2, { at: '2026-01-01T00:00:00Z', shownSince: since, listedSince: null }),
    ).toBe(2);
    const held = expired > 0 ? [] : [{ dataset: 'recordings', rows: 2 }];
    expect(await reconcile(stillClock, null)).toMatchObject({ expired, asked: 0, held });
    expect(count('recordings')).toBe(7 - expired);
    expect(count(`deletions WHERE reason = 'expired'`)).toBe(expired);
  },
);

it('an unknown field of more levels than SQLite reads does not keep it from letting go of others', () => {
  const { db } = setUp({ old: 1, young: 2 });
  db.exec(`UPDATE recordings_seen SET pass_id = 1 WHERE to_key <= 2`);
  const write = db.prepare('UPDATE recordings SET extra = ?');
  const expired = (extra: string): number[] => {
    write.run(extra);
    return listExpiredRecordings(db, { at: '2026-01-01T00:00:00Z', startedBefore: null });
  };
  const expiry = '"expiry_time":"2025-12-31T00:00:00Z"';
  expect(expired(`{${expiry}}`)).toEqual([1, 2]);
  // Neither is a number, nor a time without a date, which SQLite takes for days of long ago.
  for (const other of ['0', '30', '"0"', '"12:00"']) expect(expired(`{"expiry_time":${other}}`)).toEqual([]);
  expect(expired(`{${expiry},"deep":${'['.repeat(1000)}${']'.repeat(1000)}}`)).toEqual([]);
});

it.each(['0001-01-01T00:00:00Z', '1970-01-01T00:00:00Z', '2025-12-01T00:00:00Z'])(
  'does not take a time that no recording can have begun after (%s) for the end of one: some write so what has none',
  (time) => {
    const { db } = setUp({ old: 1, young: 3 });
    db.exec(`UPDATE recordings_seen SET pass_id = 1`);
    db.prepare('UPDATE recordings SET extra = ?').run(JSON.stringify({ expiry_time: time }));
    expect(listExpiredRecordings(db, { at: '2026-01-01T00:00:00Z', startedBefore: null })).toEqual([]);
    const times = { at: '2026-01-01T00:00:00Z', shownSince: null, listedSince: since };
    expect(nominateSuspects(db, 'recordings', 2, times)).toBe(0);
  },
);

it('misses none of those that are over: also where clocks differ, so that none expires, nobody has deleted them', async () => {
  const { db, reconcile, count } = setUp({ old: 3, young: 4 });
  db.exec(`UPDATE recordings_seen SET pass_id = 1 WHERE to_key <= 6`);
  const write = db.prepare('UPDATE recordings SET extra = ? WHERE row_key IN (?, ?)');
  write.run(JSON.stringify({ expiry_time: '2025-12-31T00:00:00Z' }), 1, 4);
  write.run(JSON.stringify({ expiry_time: '2026-01-31T00:00:00Z' }), 2, 5);
  const times = { at: '2026-01-01T00:00:00Z', shownSince: null, listedSince: '2025-12-01T00:00:00Z' };
  expect(nominateSuspects(db, 'recordings', 2, times)).toBe(2);
  expect(db.prepare('SELECT row_key FROM suspects ORDER BY 1').pluck().all()).toEqual([2, 5]);
  expect(await reconcile(stillClock, null)).toMatchObject({ expired: 2 });
  expect(count('recordings')).toBe(5);
});
