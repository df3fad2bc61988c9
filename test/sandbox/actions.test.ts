import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Action } from '../../src/sandbox/actions.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { LivingPerson } from '../../src/sandbox/store/truth.ts';
import { ask, askUrl, smallSandbox, standingClock } from './sandbox-requests.ts';

const now = '2025-06-04T12:00:00.000Z';
let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await smallSandbox({ clock: standingClock(now) });
});
afterEach(() => sandbox.close());

const byUuid = (uuid: string | undefined): LivingPerson | undefined =>
  [...sandbox.living()].find((person) => person.uuid === uuid);
const someone = (id: number): LivingPerson => {
  const person = [...sandbox.living()].find((each) => each.id === id);
  if (!person) throw new Error(`no person ${id}`);
  return person;
};
const status = async (path: string, key = sandbox.apiKey): Promise<number> =>
  (await ask(sandbox, path, { key })).status;

it('creates a person, newest by default or of any time', async () => {
  const before = sandbox.version();
  const { created, version } = sandbox.act({
    do: 'create',
    distinct_ids: ['new-1', 'new-2'],
    properties: { email: 'new@example.org' },
  });
  expect(version).toBeGreaterThan(before);
  expect(byUuid(created[0])).toEqual({
    state: 'living',
    uuid: created[0],
    id: 61,
    distinct_ids: ['new-1', 'new-2'],
    created_at: '2025-06-04T12:00:00.000000Z',
    properties: '{"email":"new@example.org"}',
    since_version: version,
  });
  const { text } = await ask(sandbox, '/persons/?email=new%40example.org');
  expect(JSON.parse(text)).toMatchObject({ count: 1, results: [{ uuid: created[0] }] });
  const old = sandbox.act({ do: 'create', created_at: '1999-12-31T23:59:59Z' });
  expect(byUuid(old.created[0])).toMatchObject({
    distinct_ids: ['created_62'],
    created_at: '1999-12-31T23:59:59.000000Z',
  });
  expect(() => sandbox.act({ do: 'create', distinct_ids: ['new-2'] })).toThrow('not possible now');
});

it('leaves queued deletions of events queued for as long as the batch does not run', async () => {
  const { uuid } = someone(1);
  sandbox.act({ do: 'delete', uuid, delete_events: true });
  sandbox.act({ do: 'set_batch', runs: false });
  const ranAt = (): (number | null)[] => sandbox.store.events.deletions().map(({ runAtMs }) => runAtMs);
  expect(sandbox.clock.moveTo(Date.parse('2025-06-16T00:00:00Z'))).toEqual([]);
  expect(ranAt()).toEqual([null]);
  sandbox.act({ do: 'set_batch', runs: true });
  expect(sandbox.clock.moveTo(sandbox.clock.now())).toEqual([Date.parse('2025-06-08T05:00:00Z')]);
  expect(ranAt()).toEqual([Date.parse('2025-06-08T05:00:00Z')]);
});

it('merges: the loser goes, its distinct ids move, the survivor takes the older time', () => {
  const [older, newer] = [someone(1), someone(2)].toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1));
  if (!older || !newer) throw new Error('two persons are needed');
  sandbox.act({ do: 'merge', loser: older.uuid, survivor: newer.uuid });
  expect(byUuid(older.uuid)).toBeUndefined();
  expect(byUuid(newer.uuid)).toMatchObject({
    id: newer.id,
    distinct_ids: [...newer.distinct_ids, ...older.distinct_ids],
    created_at: older.created_at,
  });
  expect([...sandbox.gone()]).toEqual([
    {
      state: 'gone',
      uuid: older.uuid,
      id: older.id,
      at: now,
      merged_into: newer.uuid,
      until_version: sandbox.version(),
    },
  ]);
  expect(() => sandbox.act({ do: 'merge', loser: newer.uuid, survivor: newer.uuid })).toThrow('not possible now');
  expect(() => sandbox.act({ do: 'resurrect', uuid: older.uuid })).toThrow('not possible now');
});

it('a survivor keeps its own properties and gains those it lacked', () => {
  const [loser] = sandbox.act({ do: 'create', properties: { a: 1, b: 2 } }).created;
  const [survivor] = sandbox.act({ do: 'create', properties: { b: 3 } }).created;
  sandbox.act({ do: 'merge', loser: loser ?? '', survivor: survivor ?? '' });
  expect(JSON.parse(byUuid(survivor)?.properties ?? '')).toEqual({ a: 1, b: 3 });
});

it('splits a person into one for each distinct id', () => {
  const [uuid = ''] = sandbox.act({ do: 'create', distinct_ids: ['a', 'b', 'c'] }).created;
  const { created } = sandbox.act({ do: 'split', uuid });
  expect([uuid, ...created].map((each) => byUuid(each)?.distinct_ids)).toEqual([['a'], ['b'], ['c']]);
});

it('deletes, and brings back under the same uuid and a new id', () => {
  const { uuid, distinct_ids: distinctIds } = someone(3);
  const before = sandbox.version();
  sandbox.act({ do: 'delete', uuid, delete_events: true });
  expect(byUuid(uuid)).toBeUndefined();
  expect(sandbox.store.events.deletions()).toMatchObject([{ personUuid: uuid }]);
  const { created, version } = sandbox.act({ do: 'resurrect', uuid });
  expect(created).toEqual([uuid]);
  expect(byUuid(uuid)).toMatchObject({ id: 61, distinct_ids: distinctIds, since_version: version });
  expect([...sandbox.gone()]).toMatchObject([{ uuid, id: 3, merged_into: null }]);
  expect([...sandbox.stableSince(before)]).not.toContain(uuid);
  expect([...sandbox.stableSince(version)]).toContain(uuid);
  expect(() => sandbox.act({ do: 'resurrect', uuid })).toThrow('not possible now');
});

it('a person comes back with those of its distinct ids that are free, and not without any', () => {
  const [uuid = ''] = sandbox.act({ do: 'create', distinct_ids: ['a', 'b'] }).created;
  sandbox.act({ do: 'delete', uuid });
  sandbox.act({ do: 'create', distinct_ids: ['a'] });
  sandbox.act({ do: 'resurrect', uuid });
  expect(byUuid(uuid)?.distinct_ids).toEqual(['b']);
  sandbox.act({ do: 'delete', uuid });
  sandbox.act({ do: 'create', distinct_ids: ['b'] });
  expect(() => sandbox.act({ do: 'resurrect', uuid })).toThrow('not possible now');
});

it('forgets the recordings from before a time', async () => {
  type Page = { count: number; results: { start_time: string }[] };
  const list = async (): Promise<Page> => JSON.parse((await ask(sandbox, '/session_recordings/')).text) as Page;
  const before = (await list()).results[4]?.start_time ?? '';
  sandbox.act({ do: 'expire_recordings', before });
  expect(await list()).toMatchObject({ count: 5 });
});

it('takes a scope from a key, and gives it back', async () => {
  const key = sandbox.readOnlyKey;
  sandbox.act({ do: 'set_scopes', key, scopes: ['session_recording:read'] });
  expect([await status('/persons/', key), await status('/session_recordings/', key)]).toEqual([403, 200]);
  sandbox.act({ do: 'set_scopes', key, scopes: ['person:read'] });
  expect([await status('/persons/', key), await status('/session_recordings/', key)]).toEqual([200, 403]);
});

it('lets the project vanish, and come back', async () => {
  sandbox.act({ do: 'set_project', vanished: true });
  expect([await status('/persons/'), await status('/persons/1/')]).toEqual([404, 404]);
  sandbox.act({ do: 'set_project', vanished: false });
  expect(await status('/persons/1/')).toBe(200);
});

it.each([
  ['documented', 'persons', { count: 0, next: null, previous: null, results: [] }],
  ['documented', 'session_recordings', { count: 0, next: null, previous: null, results: [] }],
  ['live', 'persons', { next: null, previous: null, results: [] }],
  ['live', 'session_recordings', { version: 4, has_next: false, results: [] }],
] as const)('%s %s are listed as if there were none', async (profile, list, expected) => {
  await using emptied = await smallSandbox({ profile });
  emptied.act({ do: 'set_lists', empty: true });
  const answer = await ask(emptied, `/${list}/?limit=3&offset=3`);
  expect([answer.status, JSON.parse(answer.text)]).toEqual([200, expected]);
  expect((await ask(emptied, '/persons/1/')).status).toBe(200);
});

it('refuses whom it does not know', () => {
  const actions: Action[] = [
    { do: 'delete', uuid: 'nobody' },
    { do: 'split', uuid: 'nobody' },
    { do: 'merge', loser: someone(1).uuid, survivor: 'nobody' },
    { do: 'set_scopes', key: 'nobody', scopes: [] },
  ];
  for (const action of actions) expect(() => sandbox.act(action)).toThrow('Not found.');
});

it('is driven from another process too', async () => {
  const post = async (body: unknown): Promise<[number, unknown]> => {
    const answer = await askUrl(`${sandbox.url}/__sandbox/act`, { method: 'POST', body });
    return [answer.status, JSON.parse(answer.text)];
  };
  const { uuid } = someone(5);
  expect(await post({ do: 'delete', uuid })).toEqual([200, { version: sandbox.version(), created: [] }]);
  expect(byUuid(uuid)).toBeUndefined();
  expect(await post({ do: 'delete', uuid })).toMatchObject([404, { code: 'not_found' }]);
  for (const body of [
    {},
    { do: 'explode' },
    { do: 'delete' },
    { do: 'delete', uuid, more: 1 },
    { do: 'expire_recordings', before: 'x' },
    'x',
  ])
    expect(await post(body)).toMatchObject([400, { code: 'invalid_input' }]);
});
