import { datasets } from '../../src/contract/datasets.ts';
import type { Row } from '../../src/snapshot/columns.ts';

/** A row without any value. */
function emptyRow(dataset: 'persons' | 'recordings'): Row {
  return Object.fromEntries(datasets[dataset].fields.map(({ name }) => [name, null]));
}

/** A person's row of the mirror; its key is `key`, everything else can be set. */
export function personRow(key: string, fields: Row = {}): Row {
  return {
    ...emptyRow('persons'),
    uuid: key,
    id: 7,
    name: 'Ann',
    distinct_ids: '["ann","ann@example.com"]',
    properties: '{"email":"ann@example.com"}',
    created_at: '2024-05-01T02:03:04.123456Z',
    extra: null,
    changed_at: '2026-11-20T10:00:00.000Z',
    ...fields,
  };
}

/** A recording's row of the mirror. */
export function recordingRow(key: string, fields: Row = {}): Row {
  return {
    ...emptyRow('recordings'),
    id: key,
    distinct_id: 'ann',
    viewed: 1,
    viewers: '["eve"]',
    recording_duration: 61,
    active_seconds: 50n,
    inactive_seconds: 11,
    start_time: '2026-11-19T10:00:00.5Z',
    end_time: '2026-11-19T10:01:01Z',
    click_count: 3,
    keypress_count: 0,
    mouse_activity_count: 9,
    console_log_count: 1,
    console_warn_count: 0,
    console_error_count: null,
    start_url: 'https://example.com/?q=ü',
    person: '{"id":7,"name":"Ann","distinct_ids":"ann","properties":{"email":"ann@example.com"}}',
    storage: 'object_storage',
    snapshot_source: 'web',
    ongoing: 0,
    activity_score: 12.5,
    person_uuid: 'p1',
    extra: '{"new":true}',
    changed_at: '2026-11-20T10:00:00.000Z',
    ...fields,
  };
}

/** `count` distinct ids of persons who have three each, in order. */
export function* distinctIdRows(count: number): Generator<Row, void> {
  for (let index = 0; index < count; index += 1)
    yield { distinct_id: `d${digits(index)}`, person_uuid: `p${digits(Math.floor(index / 3))}` };
}

function digits(number: number): string {
  return String(number).padStart(8, '0');
}
