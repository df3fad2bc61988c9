import { expect, test } from 'vitest';
import { optionalEndpoints } from '../../src/contract/optional-endpoints.ts';
import { endpointNames, endpoints, scopes, type Endpoint } from '../../src/contract/endpoints.ts';

const rows: [string, Endpoint][] = Object.entries(endpoints);

// Section 4 of the document, written down a second time on purpose.
const documented = [
  'POST /insights/trend insight:read 200',
  'GET /persons person:read 200',
  'GET /persons/:id person:read 200',
  'PATCH /persons/:id person:write 200',
  'DELETE /persons/:id person:write 204',
  'GET /persons/:id/activity activity_log:read 200',
  'POST /persons/:id/delete_property person:write 200',
  'GET /persons/:id/properties_timeline - 200',
  'POST /persons/:id/split person:write 200',
  'GET /session_recording_playlists/:short_id session_recording_playlist:read 200',
  'PATCH /session_recording_playlists/:short_id session_recording_playlist:write 200',
  'DELETE /session_recording_playlists/:short_id session_recording_playlist:write 405',
  'GET /session_recording_playlists/:short_id/recordings - 200',
  'POST /session_recording_playlists/:short_id/recordings/:session_recording_id - 200',
  'DELETE /session_recording_playlists/:short_id/recordings/:session_recording_id - 204',
  'GET /session_recordings session_recording:read 200',
  'GET /session_recordings/:id session_recording:read 200',
];

test('the table is section 4: 17 endpoints with method, path, scope and status', () => {
  expect(rows.map(([, { method, path, scope, status }]) => `${method} ${path} ${scope ?? '-'} ${status}`)).toEqual(
    documented,
  );
  expect(endpointNames).toHaveLength(17);
  expect(new Set(documented).size).toBe(17);
});

test('every scope that is asked for is known, and every known scope is asked for', () => {
  const optional: Endpoint[] = Object.values(optionalEndpoints);
  const asked = [...rows.map(([, row]) => row), ...optional].flatMap(
    ({ scope, liveScope }) => scope ?? liveScope ?? [],
  );
  expect(new Set(asked)).toEqual(new Set(scopes));
});

test.for(rows)('%s: its path has exactly the parameters that its row types', ([, { path, params }]) => {
  const inPath = Array.from(path.matchAll(/:(\w+)/g), ([, name]) => name);
  expect(Object.keys(params.shape)).toEqual(inPath);
});

test.for(rows)('%s: only documented answers with a body have a response', ([name, { response }]) => {
  const withBody = [
    'persons.list',
    'persons.retrieve',
    'persons.update',
    'playlists.retrieve',
    'playlists.update',
    'recordings.list',
    'recordings.retrieve',
  ];
  expect(response !== null).toBe(withBody.includes(name));
});

test.for([
  [{}, {}],
  [
    { limit: '10', offset: '0', format: 'csv', search: 'x' },
    { limit: 10, offset: 0, format: 'csv', search: 'x' },
  ],
  [{ properties: '[{"key":"plan"}]' }, { properties: [{ key: 'plan' }] }],
] as const)('the query of the list of persons %j is read as %j', ([text, query]) => {
  expect(endpoints['persons.list'].query.parse(text)).toEqual(query);
});

test.for([
  { limit: '0' },
  { limit: 'ten' },
  { limit: '1.5' },
  { offset: '-1' },
  { limit: '0x10' },
  { limit: '1e3' },
  { limit: '+1' },
  { limit: ' 1' },
  { limit: '' },
  { offset: '' },
  { offset: '1.0' },
  { offset: '9007199254740993' },
  { format: 'xml' },
  { properties: '{"key":"plan"}' },
  { properties: 'not json' },
])('the query of the list of persons %j is refused', (query) => {
  expect(endpoints['persons.list'].query.safeParse(query).success).toBe(false);
});

test('a flag in a query is read from its word', () => {
  const { query } = endpoints['persons.delete'];
  expect(query.parse({ delete_events: 'true' })).toEqual({ delete_events: true });
  expect(query.parse({ delete_events: 'false' })).toEqual({ delete_events: false });
  for (const word of ['maybe', 'True', '1', '0', 'yes', 'on', 'y', 'enabled', 'null', ''])
    expect(query.safeParse({ delete_events: word }).success).toBe(false);
});

test('the property to delete has to be named', () => {
  const { query } = endpoints['persons.delete_property'];
  expect(query.parse({ $unset: '1' })).toEqual({ $unset: '1' });
  expect(query.safeParse({}).success).toBe(false);
});

test('a person is named by an integer, whatever else stands in the path', () => {
  const { params } = endpoints['persons.retrieve'];
  expect(params.parse({ id: '12' })).toEqual({ id: 12 });
  const refused = ['twelve', '1.5', '1.0', '0x2', '0b1', '3e0', '+1', ' 4', '1 ', '1\n', '01', '１', '', 'true'];
  for (const id of [...refused, undefined]) expect(params.safeParse({ id }).success).toBe(false);
});
