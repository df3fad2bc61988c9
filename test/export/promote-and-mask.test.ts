import { expect, test } from 'vitest';
import { publicationOf } from '../../src/export/promote-and-mask.ts';
import { datasets } from '../../src/snapshot/columns.ts';
import { personRow, recordingRow } from '../snapshot/rows.ts';

const nothing = { promote: [], mask: [] };
const properties = String.raw`{"email":"ann@example.com","plan":{"name":"pro","seats":12345678901234567890},"n":12345678901234567890,"on":false,"none":null,"bad":"\ud800!","":"empty"}`;
const ann = personRow('p1', { properties });
/** As every engine reads them. */
const cleanProperties = properties.replace(String.raw`\ud800`, '\ufffd');

test.for(Object.keys(datasets) as (keyof typeof datasets)[])('%s are published as they are by default', (dataset) => {
  const { shape, publish } = publicationOf(dataset, nothing);
  expect(shape).toBe(datasets[dataset]);
  const plain = personRow('p1');
  expect(publish(plain)).toBe(plain);
});

test('promoted keys are string columns after all others', () => {
  const { shape } = publicationOf('persons', { promote: ['email', '$os 😀'], mask: [] });
  expect(shape.columns.slice(0, -2)).toEqual(datasets.persons.columns);
  expect(shape.columns.slice(-2)).toEqual([
    { name: 'property_email', type: 'string', field: 'property_email' },
    { name: 'property_$os 😀', type: 'string', field: 'property_$os 😀' },
  ]);
});

test('a promoted string is itself, another value its JSON text, a missing or null one null', () => {
  const promote = ['email', 'plan', 'n', 'on', 'none', 'bad', 'missing', 'toString', '__proto__'];
  const published = publicationOf('persons', { promote, mask: [] }).publish(ann);
  expect(promote.map((key) => published[`property_${key}`])).toEqual([
    'ann@example.com',
    '{"name":"pro","seats":12345678901234567890}',
    '12345678901234567890',
    'false',
    null,
    '\ufffd!',
    null,
    null,
    null,
  ]);
  expect(published).toMatchObject({ ...ann, properties: cleanProperties });
});

test.for([null, '[1]', '"text"', '7', 'null'])('properties that are %j have no keys', (text) => {
  const { publish } = publicationOf('persons', { promote: ['email'], mask: ['email'] });
  expect(publish(personRow('p1', { properties: text }))).toEqual(
    personRow('p1', { properties: text, property_email: null }),
  );
});

test('masked keys are null in the properties, and everything else stays as it was, digit for digit', () => {
  const { publish } = publicationOf('persons', { promote: ['email'], mask: ['email', 'on', 'absent'] });
  expect(publish(ann)).toEqual({
    ...ann,
    property_email: null,
    properties: cleanProperties.replace('"ann@example.com"', 'null').replace('false', 'null'),
  });
});

test('`name` masks the name field, and a property of that key', () => {
  const { publish } = publicationOf('persons', { promote: [], mask: ['name'] });
  expect(publish(personRow('p1', { properties: '{"name":"Ann","age":7}' }))).toEqual(
    personRow('p1', { name: null, properties: '{"name":null,"age":7}' }),
  );
});

test('masking reaches the person embedded in a recording', () => {
  const { publish } = publicationOf('recordings', { promote: ['email'], mask: ['name', 'email'] });
  expect(publish(recordingRow('r1'))).toEqual(
    recordingRow('r1', { person: '{"id":7,"name":null,"distinct_ids":"ann","properties":{"email":null}}' }),
  );
  const nobody = recordingRow('r2', { person: null });
  expect(publish(nobody)).toBe(nobody);
});

test('masking `__proto__` reaches a property of that very name', () => {
  const { publish } = publicationOf('persons', { promote: [], mask: ['__proto__'] });
  expect(publish(personRow('p1', { properties: '{"__proto__":"x","a":1}' }))['properties']).toBe(
    '{"__proto__":null,"a":1}',
  );
});

test.for([
  ['an empty key', ['']],
  ['a control character', ['a\nb']],
  ['a lone surrogate', ['\ud800']],
  ['one key twice', ['plan', 'plan']],
  ['keys that differ in case only', ['Email', 'email']],
  ['too many keys', Array.from({ length: 201 }, (_, index) => `key${index}`)],
] as const)('refuses to promote %s', ([, promote]) => {
  expect(() => publicationOf('persons', { promote, mask: [] })).toThrow(
    expect.objectContaining({ name: 'AppError', code: 'usage' }) as Error,
  );
});

test('damaged JSON is an error that does not quote it', () => {
  const { publish } = publicationOf('persons', { promote: [], mask: ['email'] });
  const damaged = personRow('p1', { properties: '{"email":"ann@example.com"' });
  expect(() => publish(damaged)).toThrow(
    expect.objectContaining({
      code: 'storage',
      message: 'cannot publish a row whose JSON column does not hold JSON',
    }) as Error,
  );
  // The parser's own error quotes the text.
  expect(() => publish(damaged)).not.toThrow(expect.objectContaining({ cause: expect.anything() as Error }) as Error);
});
