import { expect, it } from 'vitest';
import type { Service } from '../../src/client/service.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import { syncList } from '../../src/sync/sync-list.ts';
import { openTestMirror, stillClock } from '../mirror/open-test-mirror.ts';

/** A recording by the day and time at which it begins, as a list shows it. */
type Shown = readonly [id: string, start: string];

/** A service that lists these recordings, newest first, on one page. */
function serving(recordings: readonly Shown[]): Service {
  const results = recordings.map(([id, start]) => ({
    id,
    distinct_id: id,
    start_time: `2026-01-${start}Z`,
    person: null,
  }));
  return {
    serverTime: { serverTimeMs: () => null, serverAheadMs: () => null },
    call: () => Promise.resolve({ status: 200, date: undefined, body: { results, has_next: false } }),
  } as unknown as Service;
}

it('does not miss those that began beside the beginning of one that its list shows the rest of', async () => {
  const { db } = openTestMirror();
  const { settings } = loadSettings({}, { set: [{ path: 'recordings.query.date_from', value: '-1d' }] });
  const pass = (...recordings: Shown[]) =>
    syncList({
      dataset: 'recordings',
      mode: 'full',
      resume: true,
      db,
      service: serving(recordings),
      settings,
      clock: stillClock,
      signal: new AbortController().signal,
      onProgress: () => undefined,
    });
  const suspects = db.prepare('SELECT id FROM suspects JOIN recordings USING (row_key)').pluck();
  const today: Shown[] = [
    ['evening', '02T20:00:00'],
    ['deleted', '02T10:00:00'],
    ['morning', '02T09:00:00'],
  ];
  await pass(...today, ['last of the day', '01T23:00:00'], ['over midnight', '01T22:00:00']);
  // A day later, the list begins at midnight.
  expect(await pass(...today.filter(([id]) => id !== 'deleted'), ['over midnight', '02T00:00:01'])).toMatchObject({
    verdict: 'complete',
  });
  expect(db.prepare(`SELECT start_time FROM recordings WHERE id = 'over midnight'`).pluck().get()).toBe(
    '2026-01-01T22:00:00Z',
  );
  expect(suspects.all()).toEqual(['deleted']);
});
