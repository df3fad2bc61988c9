import { expect, test } from 'vitest';
import { publicationOf } from '../../src/export/promote-and-mask.ts';
import { publishedShapes } from '../../src/snapshot/columns.ts';
import { publishRows, rowsOfSnapshot } from '../snapshot/publish-rows.ts';
import { personRow, recordingRow } from '../snapshot/rows.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';

const nothing = { promote: [], mask: [] };
const properties = String.raw`{"email":"ann@example.com","plan":{"name":"pro","seats":12345678901234567890},"n":12345678901234567890,"on":false,"none":null,"bad":"\ud800!","":"empty"}`;
const ann = personRow('p1', { properties });
/** As every engine reads them. */
const cleanProperties = properties.replace(String.raw`\ud800`, '\ufffd');

test.for(Object.keys(publishedShapes) as (keyof typeof publishedShapes)[])(
  '%s are published as they are by default',
  (dataset) => {
    const { shape, publish } = publicationOf(dataset, nothing);
    expect(shape).toEqual(publishedShapes[dataset]);
    const plain = personRow('p1');
    expect(publish(plain)).toBe(plain);
  },
);

test.for(['persons', 'recordings'] as const)('promoted keys are string columns of %s after all others', (dataset) => {
  const { shape } = publicationOf(dataset, { promote: ['email', '$os 😀'], mask: [] });
  expect(shape.columns.slice(0, -2)).toEqual(publishedShapes[dataset].columns);
  expect(shape.columns.slice(-2)).toMatchObject([
    { name: 'property_email', type: 'string', field: 'property_email' },
    { name: 'property_$os 😀', type: 'string', field: 'property_$os 😀' },
  ]);
});

const big = '12345678901234567890';
const values = {
  text: 'ann',
  'with.dot': 'literal',
  with: { dot: 'path' },
  address: { city: 'Zürich', geo: { lat: 47.3, zip: 8001 }, none: null },
  seats: 3,
  whole: 4.0,
  half: 0.5,
  on: true,
  at: '2026-01-02T03:04:05.678+02:00',
  list: [1],
  number: '7',
};
const typed = JSON.stringify(values).replace('{', `{"big":${big},"long":9007199254740993,`);

test.for([
  ['text', 'string', 'ann'],
  ['seats', 'string', '3'],
  ['address.city', 'string', 'Zürich'],
  ['address.geo.zip', 'int64', 8001n],
  ['address.geo.lat', 'double', 47.3],
  ['address.geo', 'json', '{"lat":47.3,"zip":8001}'],
  ['text', 'json', '"ann"'],
  ['with.dot', 'string', 'literal'],
  ['seats', 'int64', 3n],
  ['whole', 'int64', 4n],
  ['long', 'int64', 9007199254740993n],
  ['seats', 'double', 3],
  ['on', 'boolean', 1],
  ['at', 'timestamp', '2026-01-02T03:04:05.678+02:00'],
  ['missing', 'int64', null],
  ['address.none', 'boolean', null],
  ['address.city.street', 'string', null],
  ['toString', 'string', null],
] as const)('the property %s as %s is %s, in persons and in the persons of recordings', ([property, type, wanted]) => {
  const promote = [{ property, as: 'wanted', type }];
  const persons = publicationOf('persons', { promote, mask: [] });
  expect(persons.publish(personRow('p1', { properties: typed }))).toMatchObject({ wanted, properties: typed });
  const recordings = publicationOf('recordings', { promote, mask: [] });
  const person = `{"id":7,"properties":${typed}}`;
  expect(recordings.publish(recordingRow('r1', { person }))).toMatchObject({ wanted, person });
  expect([persons.misfits, recordings.misfits]).toEqual([{}, {}]);
});

test.for([
  ['text', 'int64'],
  ['number', 'int64'],
  ['half', 'int64'],
  ['big', 'int64'],
  ['on', 'int64'],
  ['long', 'double'],
  ['text', 'double'],
  ['seats', 'boolean'],
  ['seats', 'timestamp'],
  ['text', 'timestamp'],
  ['list', 'boolean'],
] as const)('the property %s is no %s: it is null there, counted, and whole in the properties', ([property, type]) => {
  const { publish, misfits } = publicationOf('persons', { promote: [{ property, type }], mask: [] });
  const row = personRow('p1', { properties: typed });
  expect(publish(row)).toEqual({ ...row, [`property_${property}`]: null });
  expect(publish(row)).toMatchObject({ properties: typed });
  expect(misfits).toEqual({ [`property_${property}`]: 2 });
});

test('typed columns are columns of their type in the file, and the manifest counts what did not fit', async () => {
  const dataDir = temporaryFolder();
  const promote = [
    { property: 'address.city', as: 'city', type: 'string' },
    { property: 'seats', as: 'seats', type: 'int64' },
    { property: 'address.geo.lat', as: 'lat', type: 'double' },
    { property: 'on', as: 'is_on', type: 'boolean' },
    { property: 'at', as: 'at', type: 'timestamp' },
    { property: 'address', as: 'address', type: 'json' },
  ] as const;
  const other = personRow('p2', { properties: '{"seats":"many","on":"yes","at":"soon"}' });
  const snapshotId = await publishRows(dataDir, 'persons', [personRow('p1', { properties: typed }), other], {
    promote,
  });
  const { manifest, parts } = await rowsOfSnapshot(dataDir, 'persons', snapshotId);
  expect(manifest.misfits).toEqual({ seats: 1, is_on: 1, at: 1 });
  expect(manifest.columns.slice(-7, -1).map(({ name, type }) => `${name} ${type}`)).toEqual([
    'city string',
    'seats int64',
    'lat double',
    'is_on boolean',
    'at timestamp[us, UTC]',
    'address string',
  ]);
  expect(manifest.publication.promote).toEqual(promote);
  expect(parts.flat()).toMatchObject([
    {
      city: 'Zürich',
      seats: 3n,
      lat: 47.3,
      is_on: true,
      at: BigInt(Date.parse('2026-01-02T01:04:05.678Z')) * 1000n,
      address: '{"city":"Zürich","geo":{"lat":47.3,"zip":8001},"none":null}',
    },
    { city: null, seats: null, lat: null, is_on: null, at: null, address: null },
  ]);
});

// A promoted column `row_text` was taken for the writer's own, and nothing was published.
test('a promoted column may have any name that the writer of files uses itself', async () => {
  const dataDir = temporaryFolder();
  const names = ['row_text', 'line', 'fields', 'value_0', 'select', "it's", 'a "b"', 'x'.repeat(300)];
  const promote = names.map((as) => ({ property: 'text', as, type: 'string' as const }));
  const row = personRow('p1', { properties: typed });
  const snapshotId = await publishRows(dataDir, 'persons', [row], { promote });
  const { parts } = await rowsOfSnapshot(dataDir, 'persons', snapshotId);
  expect(parts.flat()).toMatchObject([
    { person_uuid: 'p1', ...Object.fromEntries(names.map((name) => [name, 'ann'])) },
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
  const { publish } = publicationOf('persons', { promote: ['email'], mask: [] });
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
    recordingRow('r1', {
      property_email: null,
      person: '{"id":7,"name":null,"distinct_ids":"ann","properties":{"email":null}}',
    }),
  );
  const nobody = recordingRow('r2', { person: null });
  expect(publish(nobody)).toEqual({ ...nobody, property_email: null });
});

test('a path is masked by no name of its own: its value is not published, but refused', () => {
  const row = personRow('p1', { properties: '{"address":{"city":"Bern"}}' });
  const promote = [{ property: 'address.city', as: 'city', type: 'string' as const }];
  const published = (...mask: string[]) => publicationOf('persons', { promote, mask }).publish(row);
  expect(() => published('address.city')).toThrow(expect.objectContaining({ code: 'usage' }) as Error);
  expect(published('address', 'address.city')).toMatchObject({ city: null, properties: '{"address":null}' });
  const dotted = personRow('p2', { properties: '{"address.city":"Bern","address":{}}' });
  expect(publicationOf('persons', { promote, mask: ['address.city'] }).publish(dotted)).toMatchObject({ city: null });
  const both = personRow('p3', { properties: '{"address.city":"Bern","address":{"city":"Basel"}}' });
  expect(() => publicationOf('persons', { promote, mask: ['address.city'] }).publish(both)).toThrow(
    expect.objectContaining({ code: 'usage' }) as Error,
  );
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
  ['a column that there is', [{ property: 'plan', as: 'Properties', type: 'string' }]],
  ['a field of another dataset', [{ property: 'plan', as: 'uuid', type: 'string' }]],
  ['the column of the order', [{ property: 'plan', as: '_SEQ', type: 'string' }]],
  // DuckDB would read the column in the place of the row's number: erasures failed, and a table passed over wrong rows.
  ["DuckDB's name of a row's number", [{ property: 'plan', as: 'File_Row_Number', type: 'string' }]],
  ["DuckDB's name of a row's file", [{ property: 'plan', as: 'filename', type: 'string' }]],
  ["DuckDB's name of a file's number", [{ property: 'plan', as: 'file_index', type: 'string' }]],
  ['two columns of one name', ['plan', { property: 'seats', as: 'property_plan', type: 'int64' }]],
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
