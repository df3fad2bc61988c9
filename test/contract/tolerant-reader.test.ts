import { expect, test } from 'vitest';
import { parseExactJson } from '../../src/core/exact-json.ts';
import { Person, Playlist, Recording } from '../../src/contract/resources.ts';
import { textListOf, tolerantReader } from '../../src/contract/tolerant-reader.ts';
import { person, playlist, recording } from './documented-rows.ts';

const readPerson = tolerantReader(Person, 'uuid');
const readRecording = tolerantReader(Recording, 'id');
const { uuid } = person;

/** Reads a person from JSON text, as it arrives. */
function readText(fields: string) {
  return readPerson(parseExactJson(`{"uuid":"${uuid}"${fields === '' ? '' : `,${fields}`}}`));
}

const withId = (id: unknown) => ({ ok: true, columns: expect.objectContaining({ id }) as unknown });
const refused = (reason: string) => ({ ok: false, key: uuid, reason });

test('a documented person becomes column values', () => {
  expect(readPerson(person)).toEqual({
    ok: true,
    columns: { ...person, distinct_ids: '["ada","lovelace"]', properties: '{"email":"ada@example.com"}', extra: null },
  });
});

test('a documented recording becomes column values', () => {
  expect(readRecording(recording)).toEqual({
    ok: true,
    columns: {
      ...recording,
      viewed: 1,
      ongoing: 0,
      viewers: '["grace"]',
      person: JSON.stringify(recording.person),
      extra: null,
    },
  });
});

test('a documented playlist becomes column values', () => {
  expect(tolerantReader(Playlist, 'short_id')(playlist)).toMatchObject({
    ok: true,
    columns: { short_id: 'abc123', filters: null, recordings_counts: JSON.stringify(playlist.recordings_counts) },
  });
});

test('missing and null fields are null, the key alone suffices', () => {
  const others = Object.keys(Person.shape).filter((name) => name !== 'uuid');
  const nothing = Object.fromEntries(others.map((name) => [name, null]));
  const read = { ok: true, columns: { ...nothing, uuid, extra: null } };
  expect(readText('')).toEqual(read);
  expect(readText(JSON.stringify(nothing).slice(1, -1))).toEqual(read);
});

test('unknown fields are kept exactly, whatever their names', () => {
  const extra = '{"score":0.1234567890123456789,"__proto__":{"a":[1e400]},"is_identified":null}';
  expect(readText(extra.slice(1, -1))).toMatchObject({ ok: true, columns: { extra } });
  expect(({} as { a?: unknown }).a).toBeUndefined();
});

test('the numbers inside properties are kept digit for digit', () => {
  const properties = '{"order":12345678901234567890,"__proto__":{"n":9007199254740993}}';
  expect(readText(`"properties":${properties}`)).toMatchObject({ columns: { properties } });
});

test.for([
  ['9007199254740991', 9_007_199_254_740_991],
  ['9007199254740993', 9_007_199_254_740_993n],
  ['9223372036854775807', 9_223_372_036_854_775_807n],
  ['-9223372036854775808', -9_223_372_036_854_775_808n],
  ['1.0', 1],
] as const)('the integer %s is exact', ([text, id]) => {
  expect(readText(`"id":${text}`)).toMatchObject(withId(id));
});

test.for(['9223372036854775808', '-9223372036854775809'])('the integer %s is beyond 64 bits', (text) => {
  expect(readText(`"id":${text}`)).toEqual(refused('id: beyond a 64-bit integer'));
});

test.for(['1.5', '1e400', '"12"', 'true', '[]'])('the integer %s is refused', (text) => {
  expect(readText(`"id":${text}`)).toEqual(refused('id: Invalid input'));
});

test('a uuid in place of the integer id means that the integer is unknown', () => {
  expect(readText(`"id":"${uuid}"`)).toMatchObject(withId(null));
  expect(readRecording({ id: 'r', click_count: uuid })).toMatchObject({ ok: false });
});

test.for([
  ['0.1234567890123456789', 0.123_456_789_012_345_68],
  ['12345678901234567890', 12_345_678_901_234_567_168],
  ['3', 3],
] as const)('the decimal %s is the nearest double', ([text, score]) => {
  expect(readRecording(parseExactJson(`{"id":"r","activity_score":${text}}`))).toMatchObject({
    columns: { activity_score: score },
  });
});

test('a decimal beyond a double is refused', () => {
  expect(readRecording(parseExactJson('{"id":"r","activity_score":1e400}'))).toMatchObject({ ok: false });
});

test.for([
  ['["a","b"]', '["a","b"]'],
  ['"a"', '["a"]'],
  ['[]', '[]'],
])('distinct ids %s are the list %s', ([text, list]) => {
  expect(readText(`"distinct_ids":${text}`)).toMatchObject({ columns: { distinct_ids: list } });
});

test.for([
  ['2024-05-01T02:00:00.1234567+02:00', '2024-05-01T00:00:00.1234567Z'],
  ['2024-05-01 00:00:00', '2024-05-01T00:00:00Z'],
])('the time %s is kept as %s', ([text, utc]) => {
  expect(readText(`"created_at":"${text}"`)).toMatchObject({ columns: { created_at: utc } });
});

test.for([
  ['"created_at":"yesterday"', 'created_at: not an ISO 8601 date-time'],
  ['"created_at":1714521600', 'created_at: Invalid input: expected string, received number'],
  [String.raw`"name":"\ud800"`, 'name: not well-formed Unicode'],
  ['"name":{}', 'name: Invalid input: expected string, received object'],
] as const)('%s is refused: %s', ([fields, reason]) => {
  expect(readText(fields)).toEqual(refused(reason));
});

test('ill-formed Unicode in distinct ids is refused, inside properties it is kept as an escape', () => {
  expect(readText(String.raw`"distinct_ids":["a","\udfff"]`)).toMatchObject({ ok: false, key: uuid });
  const properties = String.raw`{"note":"\ud800"}`;
  expect(readText(`"properties":${properties}`)).toMatchObject({ columns: { properties } });
});

test('the key is one spelling of the uuid, in rows that can be read and in rows that cannot', () => {
  const upper = uuid.toUpperCase();
  expect(readPerson({ uuid: upper })).toMatchObject({ ok: true, columns: { uuid } });
  expect(readPerson({ uuid: upper, name: 5 })).toMatchObject({ ok: false, key: uuid });
});

test.for([undefined, null, 5, '', 'not-a-uuid', `${uuid}\0`, [uuid]])('a person with the uuid %j has no key', (key) => {
  expect(readPerson({ ...person, uuid: key })).toMatchObject({ ok: false, key: null });
});

test.for([undefined, null, 5, '', 'a\0b', 'a\ud800'])('a recording with the id %j has no key', (key) => {
  expect(readRecording({ ...recording, id: key })).toMatchObject({ ok: false, key: null });
});

test('a recording with a longer id has no key', () => {
  expect(readRecording({ id: 'x'.repeat(1001) })).toMatchObject({ ok: false, key: null });
});

test('a recording may have any id up to a thousand characters', () => {
  for (const id of ['../../etc/passwd', 'x'.repeat(1000), '😀'])
    expect(readRecording({ id })).toMatchObject({ ok: true, columns: { id } });
});

test.for([undefined, null, 5, 'text', true, [], [person]])('%j is not a row', (row) => {
  expect(readPerson(row)).toMatchObject({ ok: false, key: null, reason: expect.stringContaining('row: ') });
});

test('a reason names at most five fields', () => {
  const result = readRecording({ ...Object.fromEntries(Object.keys(recording).map((name) => [name, {}])), id: 'r' });
  expect(result.ok ? '' : result.reason.split('; ')).toHaveLength(5);
});

test.for([
  ['["a","\\ud800"]', ['a', '\ud800']],
  ['[]', []],
  ['["a",5]', undefined],
  ['{"0":"a"}', undefined],
  ['["a"', undefined],
  [null, undefined],
  [5, undefined],
] as const)('the strings of the list column %j', ([value, items]) => {
  expect(textListOf(value)).toEqual(items);
});
