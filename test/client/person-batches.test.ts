import { expect, it } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { askForEmail, personBatches } from '../../src/client/person-batches.ts';
import type { Service } from '../../src/client/service.ts';

const uuidOf = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const rowOf = (number: number) => ({ uuid: uuidOf(number), id: number, distinct_ids: [`d${number}`] });
const signal = new AbortController().signal;

/** A service whose list shows the first `listed` of its persons, and whose batches show `rowsMax` rows at the most. */
function serviceOf({ persons = 100, listed = 20, rowsMax = 200, status = 200 }) {
  const calls: { name: string; asked: number }[] = [];
  const service: Service = {
    requestCount: () => calls.length,
    call: (name, args = {}) => {
      const { uuids, distinct_ids: distinctIds } = (args.body ?? {}) as { uuids?: string[]; distinct_ids?: string[] };
      const asked = uuids ?? distinctIds ?? [];
      calls.push({ name, asked: asked.length });
      if (name !== 'persons.list' && status !== 200)
        return Promise.reject(new AppError('no', { code: 'refused', status }));
      const all = Array.from({ length: persons }, (_person, index) => rowOf(index));
      const keyOf = (row: ReturnType<typeof rowOf>): string => (uuids ? row.uuid : (row.distinct_ids[0] ?? ''));
      const found = all.filter((row) => asked.includes(keyOf(row))).slice(0, rowsMax);
      const results =
        name === 'persons.list' ? all.slice(0, listed) : Object.fromEntries(found.map((row) => [keyOf(row), row]));
      return Promise.resolve({ status: 200, body: { results }, date: undefined });
    },
  };
  return { service, calls };
}

it('tells of each person whether it is there, also where an answer has fewer rows than persons', async () => {
  const { service, calls } = serviceOf({ rowsMax: 15 });
  const asked = [...Array.from({ length: 40 }, (_person, index) => 30 + index), 500, 501];
  const told = await personBatches(service, signal).byUuids([...asked, 500].map(uuidOf));
  expect([...told.keys()].toSorted()).toEqual(asked.map(uuidOf).toSorted());
  expect([...told].filter(([, row]) => row === null).map(([uuid]) => uuid)).toEqual([500, 501].map(uuidOf));
  expect(told.get(uuidOf(30))).toEqual(rowOf(30));
  expect(Math.max(...calls.map((call) => call.asked))).toBeLessThanOrEqual(200);
});

it('asks for no more than two hundred in one request, controls included', async () => {
  const { service, calls } = serviceOf({});
  const distinctIds = Array.from({ length: 1000 }, (_id, index) => `gone-${index}`);
  const told = await personBatches(service, signal).byDistinctIds(distinctIds);
  expect([told.size, [...told.values()].every((row) => row === null)]).toEqual([1000, true]);
  const batches = calls.filter(({ name, asked }) => name === 'persons.batch_by_distinct_ids' && asked > 0);
  expect(batches.map(({ asked }) => asked)).toEqual([200, 200, 200, 200, 200, 48]);
});

it.each([400, 403, 404, 405])('remembers that a service has no batches (%i)', async (status) => {
  const { service, calls } = serviceOf({ status });
  for (let time = 0; time < 2; time += 1)
    expect((await personBatches(service, signal).byUuids([uuidOf(1)])).size).toBe(0);
  expect(calls).toEqual([{ name: 'persons.batch_by_uuids', asked: 0 }]);
});

it('asks a service again that did not say so', async () => {
  const { service, calls } = serviceOf({ status: 500 });
  for (let time = 0; time < 2; time += 1)
    expect((await personBatches(service, signal).byUuids([uuidOf(1)])).size).toBe(0);
  expect(calls).toHaveLength(2);
});

it.each([
  ['fewer than two persons can be controls', 1],
  ['the list shows nobody', 0],
])('tells nothing where %s', async (_what, listed) => {
  const { service } = serviceOf({ listed });
  expect((await personBatches(service, signal).byUuids([uuidOf(50), uuidOf(500)])).size).toBe(0);
});

it('the persons of an address are listed in smaller pages where an answer is too long', async () => {
  const rows = [1, 2, 3, 4, 5].map((number) => ({ uuid: `u${number}`, properties: { email: 'ann@x.example' } }));
  const limits: unknown[] = [];
  const service: Service = {
    requestCount: () => limits.length,
    call: (_name, args = {}) => {
      const { limit = 100, offset = 0 } = (args as { query: { limit?: number; offset?: number } }).query;
      limits.push(limit);
      if (limit > 3) return Promise.reject(new AppError('too long', { code: 'oversize' }));
      const results = rows.slice(offset, offset + limit);
      const next = offset + limit < rows.length ? 'https://next.example/' : null;
      return Promise.resolve({ status: 200, body: { results, next }, date: undefined });
    },
  };
  expect(await askForEmail(service, 'ann@x.example', signal)).toEqual(rows);
  expect(limits).toEqual([100, 25, 7, 2, 2, 2, 2]);
});

it.each([1, 99, 100, 101, 199, 250])(
  '%i persons of an address are listed, though a full page leads to one more',
  async (count) => {
    const rows = Array.from({ length: count }, (_, number) => ({
      uuid: `u${number}`,
      properties: { email: 'ann@x.example' },
    }));
    const service: Service = {
      requestCount: () => 0,
      call: (_name, args = {}) => {
        const { limit = 100, offset = 0 } = (args as { query: { limit?: number; offset?: number } }).query;
        const results = rows.slice(offset, offset + limit);
        const next = results.length === limit ? 'https://next.example/' : null;
        return Promise.resolve({ status: 200, body: { results, next }, date: undefined });
      },
    };
    expect(await askForEmail(service, 'ann@x.example', signal)).toEqual(rows);
  },
);

it('a page without rows that leads on says nothing of the persons of an address', async () => {
  const body = { results: [], next: 'https://next.example/' };
  const service: Service = {
    requestCount: () => 0,
    call: () => Promise.resolve({ status: 200, body, date: undefined }),
  };
  await expect(askForEmail(service, 'ann@x.example', signal)).rejects.toMatchObject({ code: 'service' });
});
