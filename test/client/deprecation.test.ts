import { expect, test } from 'vitest';
import { deprecationHint, parseDeprecation } from '../../src/client/deprecation.ts';
import { json, serviceAt } from './scripted-service.ts';

const sunset = 'Thu, 31 Dec 2026 23:59:59 GMT';
const sunsetAt = '2026-12-31T23:59:59.000Z';

test.for([
  [undefined, undefined, null],
  ['false', undefined, null],
  ['?0', undefined, null],
  ['true', undefined, { since: null, sunsetAt: null }],
  ['@1782864000', sunset, { since: '2026-07-01T00:00:00.000Z', sunsetAt }],
  ['Wed, 01 Jul 2026 00:00:00 GMT', undefined, { since: '2026-07-01T00:00:00.000Z', sunsetAt: null }],
  [undefined, sunset, { since: null, sunsetAt }],
  ['@99999999999', 'soon, in 2099', { since: '5138-11-16T09:46:39.000Z', sunsetAt: null }],
] as const)('Deprecation %s and Sunset %s are read', ([deprecation, until, found]) => {
  expect(parseDeprecation(deprecation, until)).toEqual(found);
});

test('the hint names the address that came after the documented one', () => {
  expect(deprecationHint('/api/environments')).toBe('set service.pathPrefix: /api/projects');
  expect(deprecationHint('/api/projects')).toMatch(/documentation/);
});

test('a service that declares its address deprecated is told once, however often it does', async () => {
  const { service, deprecations } = await serviceAt(json('{}'), {
    ...json('{}'),
    headers: { Deprecation: '@1782864000', Sunset: sunset },
  });
  for (let call = 0; call < 4; call += 1) await service.call('persons.list');
  expect(deprecations).toEqual([{ since: '2026-07-01T00:00:00.000Z', sunsetAt }]);
});
