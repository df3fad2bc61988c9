import { expect, test } from 'vitest';
import { parseExactJson } from '../../src/core/exact-json.ts';
import { rowReaders } from '../../src/contract/row-readers.ts';

test('a recording of which a live service counts the days that are left is the same row each day', () => {
  const extraOn = (daysLeft: number): unknown => {
    const row = {
      id: 'r',
      expiry_time: '2026-12-01T00:00:00Z',
      recording_ttl: daysLeft,
      new_field: { recording_ttl: 1 },
    };
    const read = rowReaders.recordings(row);
    return read.ok && read.columns['extra'];
  };
  expect(extraOn(30)).toBe('{"expiry_time":"2026-12-01T00:00:00Z","new_field":{"recording_ttl":1}}');
  expect(extraOn(29)).toBe(extraOn(30));
  expect(rowReaders.persons({ uuid: '00000000-0000-4000-8000-000000000001', recording_ttl: 3 })).toMatchObject({
    columns: { extra: '{"recording_ttl":3}' },
  });
});

test.for(['10023', '9007199254740993', 'true', '{"first":"Ada"}', '["Ada"]'])(
  'a person whom a live service names by a property that is %s is read, and named by its JSON',
  (name) => {
    const row = parseExactJson(`{"uuid":"00000000-0000-4000-8000-000000000001","name":${name}}`);
    expect(rowReaders.persons(row)).toMatchObject({ ok: true, columns: { name } });
  },
);
