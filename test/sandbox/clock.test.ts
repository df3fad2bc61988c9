import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { ask, askUrl, smallSandbox, standingClock } from './sandbox-requests.ts';

// A Wednesday.
const base = standingClock('2025-06-04T12:00:00.250Z');
let sandbox: Sandbox;
beforeEach(async () => {
  base.set('2025-06-04T12:00:00.250Z');
  sandbox = await smallSandbox({ clock: base });
});
afterEach(() => sandbox.close());

const move = async (body: unknown): Promise<[number, { now?: string; batches?: string[]; attr?: string | null }]> => {
  const { status, text } = await askUrl(`${sandbox.url}/__sandbox/clock`, { method: 'POST', body });
  return [status, JSON.parse(text) as { now?: string }];
};
const addPerson = (id: number, ...distinctIds: string[]): void => {
  sandbox.store.persons.add({
    id,
    uuid: `uuid-${id}`,
    name: '',
    createdAtMicros: 0,
    distinctIds,
    properties: '{}',
    email: null,
  });
  for (const distinctId of distinctIds) sandbox.store.events.add({ distinctId, event: '$pageview', atMs: base.now() });
};
const deletePerson = (id: number, query = '?delete_events=true') =>
  ask(sandbox, `/persons/${id}/${query}`, { method: 'DELETE' });
const events = (...distinctIds: string[]): number[] => distinctIds.map((id) => sandbox.store.events.count(id));

it('is told, also by the Date of every answer', async () => {
  expect(JSON.parse((await askUrl(`${sandbox.url}/__sandbox/clock`)).text)).toEqual({
    now: '2025-06-04T12:00:00.250Z',
  });
  for (const path of ['/', '/nowhere', '/openapi.json', '/api/environments/1/persons']) {
    expect((await askUrl(sandbox.url + path)).headers.get('date')).toBe('Wed, 04 Jun 2025 12:00:00 GMT');
  }
  await move({ advanceSeconds: 90.5 });
  expect((await ask(sandbox, '/persons')).headers.get('date')).toBe('Wed, 04 Jun 2025 12:01:30 GMT');
});

it('moves forward by seconds or to a time, runs on from there, and never goes back', async () => {
  expect(await move({ advanceSeconds: 60 })).toEqual([200, { now: '2025-06-04T12:01:00.250Z', batches: [] }]);
  expect(await move({ now: '2025-06-05T02:00:00+02:00' })).toEqual([
    200,
    { now: '2025-06-05T00:00:00.000Z', batches: [] },
  ]);
  base.set('2025-06-04T12:00:01.250Z');
  expect(sandbox.clock.now()).toBe(Date.parse('2025-06-05T00:00:01.000Z'));
  expect(await move({ now: '2025-06-05T00:00:00Z' })).toMatchObject([400, { attr: 'now' }]);
  for (const body of [
    {},
    { advanceSeconds: -1 },
    { advanceSeconds: 1e12 },
    { now: 'tomorrow' },
    { now: '2026-01-01', advanceSeconds: 1 },
    'x',
  ]) {
    expect((await move(body))[0]).toBe(400);
  }
  expect(sandbox.clock.now()).toBe(Date.parse('2025-06-05T00:00:01.000Z'));
});

it('the weekly batch deletes the events of the asked-for persons up to the request, and nothing else', async () => {
  addPerson(501, 'a1', 'a2');
  addPerson(502, 'b1');
  addPerson(503, 'c1');
  expect((await deletePerson(501)).status).toBe(204);
  expect((await deletePerson(502, '?delete_events=false')).status).toBe(204);
  sandbox.store.events.add({ distinctId: 'a1', event: 'later', atMs: base.now() });

  expect((await move({ now: '2025-06-08T04:59:59Z' }))[1].batches).toEqual([]);
  expect(events('a1', 'a2', 'b1', 'c1')).toEqual([2, 1, 1, 1]);
  expect((await move({ advanceSeconds: 1 }))[1].batches).toEqual(['2025-06-08T05:00:00.000Z']);
  expect(events('a1', 'a2', 'b1', 'c1')).toEqual([1, 0, 1, 1]);
  expect(sandbox.store.events.deletions()).toEqual([
    {
      id: 1,
      personUuid: 'uuid-501',
      requestedAtMs: Date.parse('2025-06-04T12:00:00.250Z'),
      runAtMs: Date.parse('2025-06-08T05:00:00Z'),
    },
  ]);
});

it('a move across several Sundays runs each batch that has tasks, once', async () => {
  addPerson(501, 'a1');
  addPerson(502, 'b1');
  await deletePerson(501);
  expect((await move({ now: '2025-07-02T00:00:00Z' }))[1].batches).toEqual(['2025-06-08T05:00:00.000Z']);
  await deletePerson(502);
  expect((await move({ advanceSeconds: 30 * 86_400 }))[1].batches).toEqual(['2025-07-06T05:00:00.000Z']);
  expect((await move({ advanceSeconds: 30 * 86_400 }))[1].batches).toEqual([]);
  expect(events('a1', 'b1')).toEqual([0, 0]);
});

it('after a split, deleting one person leaves the events of the other', async () => {
  addPerson(501, 'a1', 'a2');
  await ask(sandbox, '/persons/501/split', { method: 'POST' });
  await deletePerson(501);
  await move({ advanceSeconds: 7 * 86_400 });
  expect(events('a1', 'a2')).toEqual([0, 1]);
});

it('the batch also runs by itself, once the clock has passed its Sunday', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  await using ticking = await smallSandbox({ clock: base });
  const change = { userId: 1, atMs: base.now() };
  ticking.store.persons.delete(2, true, change);
  await vi.advanceTimersByTimeAsync(61_000);
  expect(ticking.store.events.deletions()).toMatchObject([{ runAtMs: null }]);
  base.set('2025-06-08T05:00:30Z');
  await vi.advanceTimersByTimeAsync(61_000);
  expect(ticking.store.events.deletions()).toMatchObject([{ runAtMs: Date.parse('2025-06-08T05:00:00Z') }]);
  vi.useRealTimers();
});
