import { expect, test } from 'vitest';
import { embeddedPerson, withoutDistinctIds } from '../../src/contract/embedded-person.ts';

test.for([
  ['{"id":7,"distinct_ids":"ann"}', { id: '7', distinctIds: ['ann'] }],
  [
    '{"id":12345678901234567890,"distinct_ids":["ann",5,"bob"]}',
    { id: '12345678901234567890', distinctIds: ['ann', 'bob'] },
  ],
  ['{"id":"0190-uuid","distinct_ids":null}', { id: null, distinctIds: [] }],
  ['{"id":1.5}', { id: null, distinctIds: [] }],
  ['{"id":[12]}', { id: null, distinctIds: [] }],
  ['{"id":[1e400]}', { id: null, distinctIds: [] }],
  ['{"id":{"toString":1}}', { id: null, distinctIds: [] }],
  ['[]', { id: null, distinctIds: [] }],
  ['"ann"', { id: null, distinctIds: [] }],
  [null, { id: null, distinctIds: [] }],
] as const)('%s is %j', ([text, person]) => {
  expect(embeddedPerson(text)).toEqual(person);
});

test.for([
  ['{"id":12345678901234567890,"distinct_ids":"ann"}', '{"id":12345678901234567890,"distinct_ids":null}'],
  ['{"distinct_ids":["ann","bob",5],"id":1.50}', '{"distinct_ids":["bob",5],"id":1.5}'],
  ['{"distinct_ids":"joann"}', undefined],
  ['{"name":"ann","distinct_ids":"x"}', '{"name":null,"distinct_ids":"x"}'],
  ['{"name":"joann"}', undefined],
  ['"ann"', undefined],
  [null, undefined],
] as const)('%s without ann is %s', ([text, without]) => {
  expect(withoutDistinctIds(text, (id) => id === 'ann')).toBe(without);
});

test('what is not JSON is an error that does not quote it', () => {
  const failing = (): unknown => embeddedPerson('{"name":"ann');
  expect(failing).toThrow(expect.objectContaining({ code: 'storage' }) as Error);
  expect(failing).not.toThrow(/ann/);
  expect(failing).not.toThrow(expect.objectContaining({ cause: expect.anything() as Error }) as Error);
});
