import { expect, test } from 'vitest';
import { accessPage, type AccessPage } from '../../src/audit/access-page.ts';
import { parseExactJson } from '../../src/core/exact-json.ts';

const nothing: AccessPage = {
  access: { persons: [], recordings: [], quarantine: [], playlists: [], files: [] },
  whereabouts: { requests: [], searched: { files: 3, rows: 9, bytes: 99 } },
  service: 'project 1 of analytics.example.com',
  controller: { name: null, contact: null },
  at: '2026-11-22T12:00:00.000Z',
};
const hostile = '<script>alert(1)</script>&"\u202e';

const all: AccessPage = {
  ...nothing,
  access: {
    persons: [
      {
        uuid: '0189f1c0-7e5e-4bd2-a3c1-52f0a4d1c001',
        id: parseExactJson('12345678901234567890'),
        name: hostile,
        distinct_ids: ['ann', hostile],
        created_at: '2026-01-02T03:04:05.678Z',
        properties: parseExactJson(
          '{"email":"ann@example.com","<b>":{"deep":[1,{"er":2.5}]},"visits":10000000000000000001}',
        ),
      },
    ],
    recordings: [
      {
        id: 'older',
        start_time: '2026-11-01T10:00:00Z',
        end_time: '2026-11-01T10:02:03Z',
        start_url: hostile,
        click_count: 7,
        viewed: 1,
        viewers: ['staff@example.org'],
        person: { name: 'left out' },
        extra: { retention_days: 30, is_archived: false },
      },
      { id: 'newer', start_time: '2026-11-02T10:00:00+02:00', end_time: null, keypress_count: null },
    ],
    quarantine: [{ dataset: 'persons', payload: `{"odd":"${hostile}"}` }],
    playlists: [{ shortId: 'abc123', recordingId: 'older' }],
    files: [{ file: 'snapshots/persons/1/part-00001.parquet', rows: [{ key: 'k', texts: ['t'] }] }],
  },
  whereabouts: {
    requests: [{ id: '3f2a', state: 'awaiting_upstream', receivedAt: '2026-11-20T08:00:00.000Z' }],
    searched: { files: 3, rows: 9, bytes: 99 },
  },
};

test('shows every value with its digits, times with their zone, and nothing unescaped', () => {
  const page = accessPage(all);
  for (const text of [
    '12345678901234567890',
    '10000000000000000001',
    '2.5',
    '2026-01-02 03:04:05 UTC',
    '2026-11-02 08:00:00 UTC',
    'ann@example.com',
    'clicks: 7',
    'viewed: yes; viewed by: 1 person',
    '2 min',
    'abc123',
    'part-00001.parquet',
    'erased here, waiting for the service',
    '2026-11-20 08:00:00 UTC',
    'project 1 of analytics.example.com',
    '&lt;b&gt;',
  ])
    expect(page).toContain(text);
  expect(page.match(/&lt;script&gt;alert\(1\)&lt;\/script&gt;/g)).toHaveLength(4);
  expect(page).not.toMatch(/<script|<b>\{|\[object|undefined|left out|staff@|src=|url\(/);
  expect(page).toContain(`content="default-src 'none'; style-src 'sha256-`);
  expect(page.indexOf('newer')).toBeLessThan(page.indexOf('older'));
});

test('names who answers for the data, and shows fields without a name of ours one by one', () => {
  const controller = { name: 'Example AG', contact: 'privacy@example.com' };
  const extra = { is_identified: true, last_seen_at: '2026-01-02T03:04:05.678Z', first_plan: 'free' };
  const page = accessPage({ ...all, controller, access: { ...all.access, persons: [{ uuid: 'u-1', extra }] } });
  expect(page).toContain('<p>Who answers for these data: <b>Example AG, privacy@example.com</b></p>');
  const words = page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
  expect(words).toContain('Identified yes Last seen 2026-01-02 03:04:05 UTC first plan free');
  expect(words).toContain('retention days: 30; is archived: no');
  expect(accessPage(nothing)).not.toContain('Who answers');
});

test('says so where nothing is stored', () => {
  expect(accessPage(nothing)).toContain('No data about you were found.');
});

test('is bounded: of many recordings the newest are shown, and the page names the file that has all', () => {
  const recordings = Array.from({ length: 30_000 }, (_row, index) => ({
    id: `recording-${index}`,
    start_time: new Date(Date.UTC(2026, 0, 1) + index * 60_000).toISOString(),
  }));
  const page = accessPage({ ...nothing, access: { ...nothing.access, recordings } });
  expect(page.length).toBeLessThan(1_500_000);
  expect(page).toContain('The 2,000 newest are here. The data file (JSON) has all 30,000.');
  expect(page).toContain('recording-29999');
  expect(page).not.toContain('recording-27999<');
});
