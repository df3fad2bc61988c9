import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Person } from '../../src/contract/resources.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { ask, smallSandbox, standingClock, type ListBody } from './sandbox-requests.ts';

const now = '2025-06-04T12:00:00.000Z';
let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await smallSandbox({ clock: standingClock(now) });
});
afterEach(() => sandbox.close());

const list = async (query: string): Promise<ListBody<Person>> =>
  JSON.parse((await ask(sandbox, `/persons/?${query}`)).text) as ListBody<Person>;
const ids = async (query: string): Promise<number[]> =>
  (await list(query)).results.map(({ id }) => id).toSorted((a, b) => a - b);
const person = async (id: number): Promise<Person> =>
  JSON.parse((await ask(sandbox, `/persons/${id}/`)).text) as Person;
const refusalOf = async (query: string): Promise<[number, string | null]> => {
  const { status, text } = await ask(sandbox, `/persons/?${query}`);
  return [status, (JSON.parse(text) as { attr: string | null }).attr];
};

const properties = (...filters: object[]): string => `properties=${encodeURIComponent(JSON.stringify(filters))}`;
const quoted = (value: unknown): string => {
  const json = JSON.stringify(value);
  return /[",]/.test(json) ? `"${json.replaceAll('"', '""')}"` : json;
};

describe('the list', () => {
  it('is newest first, ties by the higher id, and its links lead through every person once', async () => {
    const seen: Person[] = [];
    const counts = new Set<number>();
    let next: string | null = `${sandbox.url}/api/environments/1/persons?limit=7&search=`;
    let last: string | null = null;
    while (next !== null) {
      const response = await fetch(next, { headers: { Authorization: `Bearer ${sandbox.apiKey}` } });
      const body = (await response.json()) as ListBody<Person>;
      seen.push(...body.results);
      counts.add(body.count);
      last = body.previous;
      next = body.next;
    }
    expect([...counts]).toEqual([60]);
    expect(new Set(seen.map(({ id }) => id)).size).toBe(60);
    expect(last).toBe(`${sandbox.url}/api/environments/1/persons?limit=7&search=&offset=49`);
    const sorted = seen.toSorted((a, b) =>
      a.created_at === b.created_at ? b.id - a.id : a.created_at < b.created_at ? 1 : -1,
    );
    expect(seen).toEqual(sorted);
    expect(new Set(seen.map(({ created_at }) => created_at)).size).toBeLessThan(60);
  });

  it('shows 100 persons where no limit is given, and none beyond the end', async () => {
    for (let id = 1001; id <= 1050; id += 1) {
      const distinctIds = [`added ${id}`];
      sandbox.store.persons.add({
        id,
        uuid: `${id}`,
        name: '',
        createdAtMicros: 0,
        distinctIds,
        properties: '{}',
        email: null,
      });
    }
    expect((await list('')).results).toHaveLength(100);
    expect(await list('offset=5000')).toMatchObject({ count: 110, next: null, results: [] });
    expect((await list('limit=50&offset=20')).previous).toContain('offset=0');
  });

  it('filters by distinct id, exactly', async () => {
    const { distinct_ids } = await person(3);
    for (const distinctId of distinct_ids) {
      expect(await ids(`distinct_id=${encodeURIComponent(distinctId)}`)).toEqual([3]);
    }
    expect(await ids('distinct_id=USER_1')).toEqual([]);
  });

  it('filters by e-mail, exactly, also where two people share one', async () => {
    await ask(sandbox, '/persons/2/', { method: 'PATCH', body: { properties: { email: 'Shared@Example.org' } } });
    await ask(sandbox, '/persons/9/', { method: 'PATCH', body: { properties: { email: 'Shared@Example.org' } } });
    expect(await ids('email=Shared%40Example.org')).toEqual([2, 9]);
    expect(await ids('email=shared%40example.org')).toEqual([]);
    expect(await ids('email=Shared%40Example')).toEqual([]);
  });

  it('searches words of the e-mail, or one whole distinct id', async () => {
    await ask(sandbox, '/persons/2/', {
      method: 'PATCH',
      body: { properties: { email: 'ada.lovelace@engines.example' } },
    });
    expect(await ids('search=lovelace')).toEqual([2]);
    expect(await ids('search=LOVE engines')).toEqual([2]);
    expect(await ids('search=ada.lovelace%40engines.example')).toEqual([2]);
    expect(await ids('search=lovelace nobody')).toEqual([]);
    expect(await ids('search=user_11')).toEqual([11]);
    expect(await ids('search=user_')).toEqual([]);
    await ask(sandbox, '/persons/2/delete_property?$unset=email', { method: 'POST' });
    expect(await ids('search=lovelace')).toEqual([]);
  });

  it.each(['"', '*', 'a OR b', 'NEAR(', '%00', '-', "';--", 'email:x', '%F0%9F%94%91'])(
    'takes the search %s for words, never for syntax',
    async (search) => {
      expect((await ask(sandbox, `/persons/?search=${search}`)).status).toBe(200);
    },
  );

  it('filters by properties, and by everything together', async () => {
    await ask(sandbox, '/persons/2/', { method: 'PATCH', body: { properties: { team: 'blue', size: 5 } } });
    await ask(sandbox, '/persons/4/', { method: 'PATCH', body: { properties: { team: 'blue', size: 15 } } });
    expect(await ids(properties({ key: 'team', value: 'blue' }))).toEqual([2, 4]);
    expect(await ids(properties({ key: 'team', value: 'blue' }, { key: 'size', operator: 'gt', value: 9 }))).toEqual([
      4,
    ]);
    expect(await ids(`${properties({ key: 'team', operator: 'is_set' })}&distinct_id=user_2`)).toEqual([2]);
    expect((await list(`${properties({ key: 'team', operator: 'is_not_set' })}&limit=5`)).count).toBe(58);
    expect(await ids(`${properties()}&limit=60`)).toHaveLength(60);
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=x', 'limit'],
    ['limit=100001', 'limit'],
    ['offset=-1', 'offset'],
    ['offset=1.5', 'offset'],
    ['limit=0x10', 'limit'],
    ['limit=1e3', 'limit'],
    ['limit=', 'limit'],
    ['offset=', 'offset'],
    ['offset=%201', 'offset'],
    ['format=xml', 'format'],
    ['properties=nope', 'properties'],
    ['properties={}', 'properties'],
    ['properties=[{"key":"a","operator":"regex","value":"x"}]', 'properties'],
    ['properties=[{"operator":"is_set"}]', 'properties'],
  ])('refuses %s', async (query, attr) => {
    expect(await refusalOf(query)).toEqual([400, attr]);
  });
});

describe('format=csv', () => {
  it('is one row for each person of the page, with JSON as text', async () => {
    await ask(sandbox, '/persons/2/', { method: 'PATCH', body: { properties: { quote: 'a "b", c\nd' } } });
    const two = await person(2);
    const { headers, text } = await ask(sandbox, '/persons/2/?format=csv');
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const header = Object.keys(Person.shape).join(',');
    const cells = Object.values(two).map((value) => (typeof value === 'string' ? value : quoted(value)));
    expect(text).toBe(`${header}\n${cells.join(',')}\n`);
    expect(header).toMatch(/^id,name,/);
    expect((await ask(sandbox, '/persons/?format=csv&distinct_id=user_2')).text).toBe(text);
    const none = await ask(sandbox, '/persons/?format=csv&distinct_id=nobody');
    expect(none.text).toBe(`${header}\n`);
  });

  it('changes nothing where no person is read', async () => {
    const patched = await ask(sandbox, '/persons/2/?format=csv', { method: 'PATCH', body: {} });
    expect(JSON.parse(patched.text)).toEqual(await person(2));
    expect((await ask(sandbox, '/persons/2/activity/?format=csv')).text).toBe('');
  });
});

describe('PATCH', () => {
  it('merges properties on the top level, exactly, and logs who changed what when', async () => {
    const patch = (body: string) => ask(sandbox, '/persons/2/', { method: 'PATCH', body });
    const before = await person(2);
    await patch('{"properties":{"kept":{"a":1},"big":1}}');
    const { text } = await patch(
      String.raw`{"properties":{"big":9007199254740993,"kept":{"b":2},"odd":"\ud800","__proto__":1}}`,
    );
    expect(text).toContain('"big":9007199254740993');
    expect(text).toContain(String.raw`"odd":"\ud800"`);
    expect(text).toContain('"kept":{"b":2}');
    expect(text).toContain('"__proto__":1');
    expect(text).toBe((await ask(sandbox, '/persons/2/')).text);
    expect(await person(2)).toMatchObject({ properties: before.properties, uuid: before.uuid });

    const atMs = Date.parse(now);
    expect(sandbox.store.log.activity(2)).toMatchObject([
      { action: 'updated', personUuid: before.uuid, detail: '{"keys":["kept","big"]}' },
      { action: 'updated', atMs, userId: 1 },
    ]);
  });

  it('replaces properties that are no object, and logs nothing where nothing changes', async () => {
    sandbox.store.persons.add({
      id: 500,
      uuid: 'u',
      name: '',
      createdAtMicros: 0,
      distinctIds: ['d500'],
      properties: '[1]',
      email: null,
    });
    await ask(sandbox, '/persons/500/', { method: 'PATCH', body: {} });
    expect((await person(500)).properties).toEqual([1]);
    await ask(sandbox, '/persons/500/', { method: 'PATCH', body: { properties: { a: 1 } } });
    expect((await person(500)).properties).toEqual({ a: 1 });
    await ask(sandbox, '/persons/500/', { method: 'PATCH', body: { properties: { a: 1 } } });
    expect(sandbox.store.log.activity(500)).toHaveLength(1);
  });

  it.each([
    ['{', null],
    ['[]', null],
    ['"text"', null],
  ])('refuses the body %s', async (body, attr) => {
    const { status, text } = await ask(sandbox, '/persons/2/', { method: 'PATCH', body });
    expect([status, JSON.parse(text)]).toEqual([400, expect.objectContaining({ code: 'invalid_input', attr })]);
  });

  it.each(['null', '[1]', '"text"', 'true', '9007199254740993'])(
    'replaces the properties by %s, which is JSON too, and logs the keys that are gone',
    async (value) => {
      await ask(sandbox, '/persons/2/', { method: 'PATCH', body: { properties: { email: 'gone@example.com' } } });
      const keys = Object.keys((await person(2)).properties as object);
      const body = `{"properties":${value}}`;
      const { status, text } = await ask(sandbox, '/persons/2/', { method: 'PATCH', body });
      expect(status).toBe(200);
      expect(text).toContain(`"properties":${value},`);
      expect((await ask(sandbox, '/persons/2/')).text).toBe(text);
      expect(await ids('email=gone%40example.com')).toEqual([]);
      expect(sandbox.store.log.activity(2).at(-1)).toMatchObject({ detail: JSON.stringify({ keys }) });
      const logged = sandbox.store.log.activity(2).length;
      await ask(sandbox, '/persons/2/', { method: 'PATCH', body });
      expect(sandbox.store.log.activity(2)).toHaveLength(logged);
    },
  );

  it('refuses a body that nests too deeply', async () => {
    const body = `{"properties":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`;
    expect((await ask(sandbox, '/persons/2/', { method: 'PATCH', body })).status).toBe(400);
  });

  it('refuses a body of more than 4 MiB', async () => {
    const body = JSON.stringify({ properties: { long: 'x'.repeat(4 * 1024 * 1024) } });
    expect((await ask(sandbox, '/persons/2/', { method: 'PATCH', body })).status).toBe(400);
  });
});

describe('delete_property', () => {
  it('deletes that property only, and logs it', async () => {
    await ask(sandbox, '/persons/2/', { method: 'PATCH', body: { properties: { $kept: 1, $gone: 2 } } });
    expect(await ask(sandbox, '/persons/2/delete_property/?$unset=$gone', { method: 'POST' })).toMatchObject({
      status: 200,
      text: '',
    });
    const { properties } = await person(2);
    expect(properties).toHaveProperty('$kept', 1);
    expect(properties).not.toHaveProperty('$gone');
    expect(sandbox.store.log.activity(2).at(-1)).toMatchObject({
      action: 'property_deleted',
      detail: '{"keys":["$gone"]}',
    });
  });

  it('changes nothing where the property is not there', async () => {
    const before = await person(2);
    expect((await ask(sandbox, '/persons/2/delete_property/?$unset=absent', { method: 'POST' })).status).toBe(200);
    expect(await person(2)).toEqual(before);
    expect(sandbox.store.log.activity(2)).toEqual([]);
  });

  it('needs $unset', async () => {
    const { status, text } = await ask(sandbox, '/persons/2/delete_property/', { method: 'POST' });
    expect([status, JSON.parse(text)]).toEqual([400, expect.objectContaining({ attr: '$unset' })]);
  });
});

describe('split', () => {
  it('leaves the first distinct id and makes each other a new person without properties', async () => {
    const distinctIds = ['main', 'second', 'third'];
    sandbox.store.persons.add({
      id: 500,
      uuid: 'u',
      name: 'Main',
      createdAtMicros: 0,
      distinctIds,
      properties: '{"a":1}',
      email: null,
    });
    expect(await ask(sandbox, '/persons/500/split/', { method: 'POST' })).toMatchObject({ status: 200, text: '' });
    expect(await person(500)).toMatchObject({ name: 'Main', distinct_ids: ['main'], properties: { a: 1 } });
    const [second, third] = await Promise.all([person(501), person(502)]);
    expect(second).toMatchObject({
      distinct_ids: ['second'],
      properties: {},
      created_at: '2025-06-04T12:00:00.000000Z',
    });
    expect(third).toMatchObject({ distinct_ids: ['third'], properties: {} });
    expect(second.uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(second.uuid).not.toBe(third.uuid);
    expect(sandbox.store.log.activity(500)).toMatchObject([{ action: 'split', detail: '{"new_ids":[501,502]}' }]);
    expect(sandbox.store.log.activity(501)).toMatchObject([{ action: 'created', detail: '{"split_from":500}' }]);
    expect((await list('limit=2')).results.map(({ id }) => id)).toEqual([502, 501]);
  });

  it('never gives the id of a deleted person to another', async () => {
    sandbox.store.persons.add({
      id: 500,
      uuid: 'u',
      name: '',
      createdAtMicros: 0,
      distinctIds: ['a', 'b'],
      properties: '{}',
      email: null,
    });
    await ask(sandbox, '/persons/500/split/', { method: 'POST' });
    await ask(sandbox, '/persons/501/', { method: 'DELETE' });
    sandbox.store.persons.add({
      id: null,
      uuid: 'v',
      name: '',
      createdAtMicros: 0,
      distinctIds: ['c'],
      properties: '{}',
      email: null,
    });
    expect(await ids('distinct_id=c')).toEqual([502]);
  });
});

describe('DELETE', () => {
  it('removes the person from every read, and answers 404 from then on', async () => {
    const { distinct_ids, uuid } = await person(2);
    expect(await ask(sandbox, '/persons/2/', { method: 'DELETE' })).toMatchObject({ status: 204, text: '' });
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['PATCH', ''],
      ['GET', 'activity'],
      ['GET', 'properties_timeline'],
      ['POST', 'split'],
      ['POST', 'delete_property?$unset=a'],
    ] as const) {
      expect((await ask(sandbox, `/persons/2/${path}`, { method })).status).toBe(404);
    }
    expect(await ids(`distinct_id=${distinct_ids[0]}`)).toEqual([]);
    expect((await list('')).count).toBe(59);
    expect(sandbox.store.log.activity(2)).toMatchObject([{ action: 'deleted', personUuid: uuid }]);
    expect(sandbox.store.events.deletions()).toEqual([]);
  });

  it('keeps the recordings of the person, with the person as it was recorded', async () => {
    const recordings = async () => (await ask(sandbox, '/session_recordings/')).text;
    const before = await recordings();
    const { results } = JSON.parse(before) as ListBody<{ person: { id: number } }>;
    const id = results[0]?.person.id ?? 0;
    expect((await ask(sandbox, `/persons/${id}/`, { method: 'DELETE' })).status).toBe(204);
    expect(await recordings()).toBe(before);
  });
});

describe.each(['documented', 'live'] as const)('a path of the %s profile', (profile) => {
  const calls = [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['GET', '/activity'],
    ['GET', '/properties_timeline'],
    ['POST', '/delete_property/?$unset=plan'],
    ['POST', '/split'],
  ] as const;

  it('answers 404 for an unknown id and 400 for one that is not an integer, and changes nothing', async () => {
    await using service = await smallSandbox({ profile });
    const truth = (): string[] => [...service.living()].map((row) => JSON.stringify(row));
    const before = truth();
    for (const [method, path] of calls) {
      // A live service looks at the change before it looks for the person.
      const body = method === 'PATCH' ? { properties: {} } : undefined;
      expect((await ask(service, `/persons/999999${path}`, { method, body })).status).toBe(404);
      for (const id of ['abc', '0x2', '3e0', '1.0', '+1', '%204', '1%20', '01', '1%0A', '%EF%BC%91', '1,2', 'true'])
        expect([method, id, (await ask(service, `/persons/${id}${path}`, { method })).status]).toEqual([
          method,
          id,
          400,
        ]);
    }
    // A live service makes some changes a few requests later.
    for (let request = 0; request < 4; request += 1) await ask(service, '/persons?limit=1');
    expect(truth()).toEqual(before);
  });

  it('names the id, where a refusal says anything', async () => {
    const { status, text } = await ask(sandbox, '/persons/abc/');
    expect([status, JSON.parse(text)]).toEqual([400, expect.objectContaining({ attr: 'id' })]);
  });
});
