import { expect, it } from 'vitest';
import { controlOf, listNewest } from '../../src/client/control.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import type { PagedDataset } from '../../src/contract/datasets.ts';
import type { Service } from '../../src/client/service.ts';
import { AppError } from '../../src/core/errors.ts';
import { parseExactJson } from '../../src/core/exact-json.ts';

const missing = (isForeign = false) => new AppError('no row', { code: 'rejected', status: 404, isForeign });
const uuidOf = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

/** A uuid with letters. */
const capital = 'aaaaaaaa-0000-4000-8000-00000000000a';

/** A service that lists persons 1 to 9, and answers by id as it is told; and what it was asked. */
function serviceThat(
  byId: (id: number) => unknown,
  listed: readonly unknown[] = [1, 2, 3, 4, 5, 6, 7, 8, 9],
  areKnown?: (dataset: PagedDataset) => boolean,
) {
  const asked: unknown[] = [];
  const queries: unknown[] = [];
  const service: Service = {
    requestCount: () => asked.length,
    call: async (name, args = {}) => {
      await Promise.resolve();
      const { params, extraQuery } = args as { params?: { id: string }; extraQuery?: object };
      asked.push(params?.id ?? name);
      queries.push(extraQuery);
      const results = listed.map((id, index) => ({ id, uuid: id === capital ? capital : uuidOf(index + 1) }));
      const body = params === undefined ? { next: null, results } : byId(Number(params.id));
      if (body instanceof AppError) throw body;
      return { status: 200, body, date: undefined };
    },
  };
  const { signal } = new AbortController();
  const { settings } = loadSettings({}, { set: [{ path: 'recordings.query', value: { date_from: '-30d' } }] });
  const control = controlOf({ service, settings, signal, ...(areKnown && { areKnown }) }, () => 0);
  return { service, asked, queries, prove: (dataset: PagedDataset = 'persons') => control(dataset) };
}

it('a row of the list that answers by its id is a control, once for a run', async () => {
  const { asked, prove } = serviceThat((id) => ({ id, uuid: uuidOf(id) }));
  await Promise.all([prove(), prove()]);
  await prove();
  expect(asked).toEqual(['persons.list', '1']);
});

it.each([
  ['with an integer beyond 2^53 by its digits', parseExactJson('9007199254740993'), '9007199254740993'],
  ['with its uuid in the place of the integer by that', uuidOf(1), uuidOf(1)],
  ['without an integer by its uuid', null, uuidOf(1)],
])('a row is asked for %s', async (_what, id, ref) => {
  const { asked, prove } = serviceThat(() => ({ uuid: uuidOf(1) }), [id]);
  await prove();
  expect(asked).toEqual(['persons.list', ref]);
});

it('a row that is shown by its id with its uuid in capitals is a control', async () => {
  const { asked, prove } = serviceThat(() => ({ uuid: capital.toUpperCase() }), [capital]);
  await expect(prove()).resolves.toBeUndefined();
  expect(asked).toEqual(['persons.list', capital]);
});

it('fewer rows are listed where an answer with 40 is too long', async () => {
  const limits: unknown[] = [];
  const { service, prove } = serviceThat((id) => ({ id, uuid: uuidOf(id) }));
  const inner = { ...service };
  service.call = async (name, args) => {
    const limit = (args as { query?: { limit: number } }).query?.limit ?? 0;
    if (limit > 0) limits.push(limit);
    if (limit > 5) throw new AppError('too long', { code: 'oversize' });
    return await inner.call(name, args);
  };
  await prove();
  expect(limits).toEqual([40, 10, 3]);
  const long = new AppError('too long', { code: 'oversize' });
  service.call = () => Promise.reject(long);
  await expect(listNewest(service, 'persons', { most: 40, signal: new AbortController().signal })).rejects.toBe(long);
});

it('a row that has gone in between is no reason: others are asked for', async () => {
  const { asked, prove } = serviceThat((id) => (id < 3 ? missing() : { id, uuid: uuidOf(id) }));
  await prove();
  expect(asked).toEqual(['persons.list', '1', '2', '3']);
});

it.each([
  ['at which the service fails', 'service', 500],
  ['that the service refuses the key', 'refused', 403],
] as const)('a row %s is no reason either', async (_which, code, status) => {
  const failing = new AppError('no', { code, status });
  const { asked, prove } = serviceThat((id) => (id < 3 ? failing : { id, uuid: uuidOf(id) }));
  await prove();
  expect(asked).toEqual(['persons.list', '1', '2', '3']);
  await expect(serviceThat(() => failing).prove()).rejects.toBe(failing);
  const refusal = new AppError('no', { code: 'refused', status: 401 });
  const refusing = serviceThat(() => refusal);
  await expect(refusing.prove()).rejects.toBe(refusal);
  expect(refusing.asked).toEqual(['persons.list', '1']);
});

it.each([
  ['all that is asked for is a 404', () => missing()],
  ['a cache answers with another row', () => ({ id: 77, uuid: uuidOf(77) })],
  ['the 404 is not in the words of the service', () => missing(true)],
])('no 404 counts where %s', async (_what, byId) => {
  await expect(serviceThat(byId).prove()).rejects.toMatchObject({ code: 'service' });
});

it('where the list shows nobody, there is nothing to hold a 404 against', async () => {
  await expect(serviceThat(() => missing(), []).prove()).resolves.toBeUndefined();
  const service = serviceThat(
    () => missing(),
    [],
    (dataset) => dataset === 'persons',
  );
  await expect(service.prove('recordings')).resolves.toBeUndefined();
  await expect(service.prove()).rejects.toMatchObject({
    message: expect.stringContaining('the mirror holds some') as string,
  });
});

it('the list is asked for as a pass asks for it: without its query, a live service may show no row of the last days', async () => {
  const { queries, prove } = serviceThat((id) => ({ id, uuid: uuidOf(id) }), []);
  await prove('recordings');
  expect(queries).toEqual([{ date_from: '-30d' }]);
});

it.each([
  ['is no list of nobody', { next: 'https://x.example/?offset=40' }, Number.POSITIVE_INFINITY, 25],
  ['of recordings is none either', { has_next: true }, Number.POSITIVE_INFINITY, 25],
  ['is passed over', { next: 'https://x.example/?offset=40' }, 2, 4],
  // A live service takes those that were deleted out of each page: the newest can all have been the erased person's.
  ['of deleted rows is passed over, as many as they are', { next: 'https://x.example/?offset=40' }, 20, 22],
])('an empty page that leads on %s', async (_what, more, empty, calls) => {
  const { service, asked, prove } = serviceThat((id) => ({ id, uuid: uuidOf(id) }));
  const inner = { ...service };
  const offsets: unknown[] = [];
  service.call = async (name, args) => {
    const reply = await inner.call(name, args);
    const offset = (args as { query?: { offset: number } }).query?.offset;
    if (offset === undefined) return reply;
    offsets.push(offset);
    return offsets.length > empty ? reply : { ...reply, body: { results: [], ...more } };
  };
  const proof = prove('has_next' in more ? 'recordings' : 'persons');
  if (Number.isFinite(empty)) await proof;
  else await expect(proof).rejects.toMatchObject({ code: 'service' });
  expect(offsets).toEqual(Array.from({ length: Math.min(empty + 1, 25) }, (_, page) => 40 * page));
  expect(asked).toHaveLength(calls);
});
