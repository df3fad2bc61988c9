import { gunzipSync } from 'node:zlib';
import { get, type IncomingMessage } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { ask, askUrl, smallSandbox, standingClock, type Ask } from './sandbox-requests.ts';

type LivePage = { next: string | null; previous: string | null; results: LivePerson[] };
type LivePerson = { id: number | string; uuid: string; distinct_ids: string[]; properties: unknown };

const clock = standingClock('2025-06-04T12:00:00Z');
let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await smallSandbox({ profile: 'live', persons: 600, recordings: 40, clock });
});
afterEach(() => sandbox.close());

const json = async <T>(path: string, options?: Ask): Promise<T> =>
  JSON.parse((await ask(sandbox, path, options)).text) as T;
const status = async (path: string, options?: Ask): Promise<number> => (await ask(sandbox, path, options)).status;
const list = (query: string): Promise<LivePage> => json(`/persons/?${query}`);
const pages = async (limit: number): Promise<LivePage[]> => {
  const all: LivePage[] = [];
  for (let offset: string | null = '0'; offset !== null;) {
    const page = await list(`limit=${limit}&offset=${offset}`);
    all.push(page);
    offset = page.next === null ? null : new URL(page.next).searchParams.get('offset');
  }
  return all;
};
/** Enough requests for a change that was only taken note of. */
const wait = async (): Promise<void> => {
  for (let request = 0; request < 4; request += 1) await list('limit=1');
};

it('pages come short, one of them empty, and still show every person once', async () => {
  const all = await pages(100);
  const rows = all.map(({ results }) => results.length);
  expect(rows.slice(0, -1).filter((count) => count < 100).length).toBeGreaterThan(2);
  expect(rows.slice(0, -1)).toContain(0);
  const uuids = all.flatMap(({ results }) => results.map(({ uuid }) => uuid));
  expect(uuids.toSorted()).toEqual([...sandbox.living()].map(({ uuid }) => uuid).toSorted());
});

it('a list without ghosts shows all', async () => {
  await using plain = await smallSandbox({ profile: 'live', live: { ghostShare: 0, ghostRun: 0 } });
  const { results } = JSON.parse((await ask(plain, '/persons/?limit=500')).text) as LivePage;
  expect(results).toHaveLength(60);
});

it('a last page that is full is followed by an empty one', async () => {
  await using full = await smallSandbox({ profile: 'live', live: { ghostShare: 0 } });
  const last = JSON.parse((await ask(full, '/persons/?limit=30&offset=30')).text) as LivePage;
  expect([last.results.length, new URL(last.next ?? '').searchParams.get('offset')]).toEqual([30, '60']);
  expect(JSON.parse((await ask(full, '/persons/?limit=30&offset=60')).text)).toMatchObject({ next: null, results: [] });
});

it('gives no count, a next of another host and prefix, and a previous that is the page itself', async () => {
  const page = await list('limit=10&offset=20');
  expect(Object.keys(page)).toEqual(['next', 'previous', 'results']);
  expect(page.next).toBe('https://analytics.internal.example/api/projects/1/persons/?limit=10&offset=30');
  expect(page.previous).toBe('https://analytics.internal.example/api/projects/1/persons/?limit=10&offset=20');
});

it('clamps a limit above its cap, and next says so', async () => {
  const { results, next } = await list('limit=50000');
  expect(results.length).toBeLessThanOrEqual(500);
  expect(new URL(next ?? '').search).toBe('?limit=500&offset=500');
});

it('takes a page for the last one where more than 50,000 persons are asked for', async () => {
  const { results, next } = await list('limit=50001');
  expect(results.length).toBeGreaterThan(200);
  expect(next).toBeNull();
});

it('has 100 persons on a page that is asked for without a limit', async () => {
  await using plain = await smallSandbox({ profile: 'live', persons: 150, live: { ghostShare: 0, ghostRun: 0 } });
  const page = JSON.parse((await ask(plain, '/persons/')).text) as LivePage;
  expect(page.results).toHaveLength(100);
  expect(new URL(page.next ?? '').search).toBe('?limit=100&offset=100');
});

it('answers under both prefixes', async () => {
  for (const prefix of ['environments', 'projects']) {
    const { status: code } = await askUrl(`${sandbox.url}/api/${prefix}/1/persons/1/`, { key: sandbox.apiKey });
    expect(code).toBe(200);
  }
});

it('shows the uuid as id in lists, also by filter, and the integer by id and by uuid', async () => {
  const [listed] = (await pages(500)).flatMap(({ results }) => results);
  const uuid = listed?.uuid ?? '';
  expect(listed).toHaveProperty('id', uuid);
  const [distinctId = ''] = listed?.distinct_ids ?? [];
  expect((await list(`distinct_id=${encodeURIComponent(distinctId)}`)).results).toEqual([listed]);
  const found = await json<LivePerson>(`/persons/${uuid}/`);
  expect(found).toEqual({ ...listed, id: [...sandbox.living()].find((person) => person.uuid === uuid)?.id });
  expect(await json(`/persons/${String(found.id)}/`)).toEqual(found);
});

it('shows times in milliseconds, and when most persons were last seen', async () => {
  const rows = (await pages(500)).flatMap(({ results }) => results) as (LivePerson & Record<string, unknown>)[];
  const seen = rows.map(({ last_seen_at: at }) => at).filter((at) => at !== null);
  expect(seen.length).toBeGreaterThan(rows.length / 2);
  expect(seen.length).toBeLessThan(rows.length);
  for (const at of [...rows.map(({ created_at: at }) => at), ...seen]) expect(at).toMatch(/T[\d:]{8}\.\d{3}000Z$/);
});

it('cuts the distinct ids of a list to 1,000', async () => {
  const crowd = [...sandbox.living()].find((person) => person.distinct_ids.length > 1000);
  const listed = (await pages(500)).flatMap(({ results }) => results).find(({ uuid }) => uuid === crowd?.uuid);
  expect(listed?.distinct_ids).toEqual(crowd?.distinct_ids.slice(0, 1000));
  expect((await json<LivePerson>(`/persons/${crowd?.uuid}`)).distinct_ids).toEqual(crowd?.distinct_ids);
});

it('csv has a limit and an offset of its own', async () => {
  const { text } = await ask(sandbox, '/persons/?format=csv&limit=1&offset=599');
  expect(text.split(/\n(?=\d+,)/)).toHaveLength(601);
});

it('DELETE answers 202, then 404, and reads delete_events by its presence', async () => {
  const options = { method: 'DELETE' };
  expect([await status('/persons/2/', options), await status('/persons/2/', options)]).toEqual([202, 404]);
  expect(sandbox.store.events.deletions()).toEqual([]);
  expect(await status('/persons/3/?delete_events=false', options)).toBe(202);
  expect(sandbox.store.events.deletions()).toHaveLength(1);
});

it.each([
  ['PATCH', '/persons/2/', 202, ''],
  ['POST', '/persons/2/delete_property/?$unset=country', 201, '{"success":true}'],
  ['POST', '/persons/2/split/', 201, '{"success":true}'],
])('%s %s answers %d and acts later', async (method, path, code, text) => {
  const truth = (): unknown => [...sandbox.living()].find(({ id }) => id === 2);
  sandbox.store.lifecycle.addDistinctIds(2, ['another']);
  const before = truth();
  const answer = await ask(sandbox, path, {
    method,
    ...(method === 'PATCH' && { body: { properties: { late: true } } }),
  });
  expect([answer.status, answer.text]).toEqual([code, text]);
  await list('limit=1');
  expect(truth()).toEqual(before);
  await wait();
  expect(truth()).not.toEqual(before);
});

it('a change that is due after its person is gone does nothing', async () => {
  await ask(sandbox, '/persons/2/', { method: 'PATCH', body: { properties: { late: true } } });
  await ask(sandbox, '/persons/2/', { method: 'DELETE' });
  await wait();
  expect([...sandbox.gone()].map(({ id }) => id)).toEqual([2]);
});

it.each([
  ['PATCH', '/persons/9999/'],
  ['DELETE', '/persons/9999/'],
  ['POST', '/persons/9999/split/'],
  ['GET', '/persons/00000000-0000-4000-8000-000000000000/'],
  ['GET', '/persons/9999/activity/'],
])('%s %s is 404', async (method, path) => {
  expect(await status(path, { method })).toBe(404);
});

it('deletes many at once, and says which it did not', async () => {
  const uuids = [...sandbox.living()].map(({ uuid }) => uuid).slice(0, 300);
  const body = { ids: [...uuids, '00000000-0000-4000-8000-000000000001'], delete_events: true };
  type Result = { deletion_errors: { person_uuid: string }[] };
  const first = await json<Result>('/persons/bulk_delete/', { method: 'POST', body });
  const failed = first.deletion_errors.map(({ person_uuid }) => person_uuid);
  expect(failed.length).toBeGreaterThan(0);
  expect(first).toMatchObject({ persons_found: 300, persons_deleted: 300 - failed.length });
  const living = new Set([...sandbox.living()].map(({ uuid }) => uuid));
  expect(uuids.filter((uuid) => living.has(uuid))).toEqual(failed);
  const again = await ask(sandbox, '/persons/bulk_delete/', { method: 'POST', body });
  expect(again.status).toBe(202);
  expect(JSON.parse(again.text)).toMatchObject({ persons_found: failed.length, deletion_errors: [] });
});

it('refuses to delete more than 1,000 at once, and needs the scope to write', async () => {
  const ids = Array.from({ length: 1001 }, () => '00000000-0000-4000-8000-000000000001');
  expect(await status('/persons/bulk_delete/', { method: 'POST', body: { ids } })).toBe(400);
  const body = { ids: ids.slice(0, 1) };
  expect(await status('/persons/bulk_delete/', { method: 'POST', body, key: sandbox.readOnlyKey })).toBe(403);
});

it('tells how far the deletion of events is', async () => {
  const { uuid } = await json<LivePerson>('/persons/2/');
  await ask(sandbox, '/persons/2/?delete_events=true', { method: 'DELETE' });
  const path = `/persons/deletion_status/?person_uuid=${uuid}`;
  expect(await json(path)).toMatchObject({ results: [{ person_uuid: uuid, status: 'pending' }] });
  sandbox.clock.moveTo(Date.parse('2025-06-08T05:00:00Z'));
  expect(await json(path)).toMatchObject({
    results: [{ status: 'completed', delete_verified_at: '2025-06-08T05:00:00.000Z' }],
  });
  expect(await json(path.replace(uuid, '00000000-0000-4000-8000-000000000001'))).toEqual({ results: [] });
});

it('words its refusals in turn: as usual, as error, as success, and not at all', async () => {
  const texts: string[] = [];
  for (let request = 0; request < 6; request += 1) {
    const answer = await ask(sandbox, '/persons/9999/');
    expect(answer.status).toBe(404);
    texts.push(answer.text);
  }
  expect(new Set(texts)).toEqual(
    new Set([
      '{"type":"invalid_request","code":"not_found","detail":"Not found.","attr":null}',
      '{"error":"Not found."}',
      '{"success":false}',
      '',
    ]),
  );
});

it('packs its answers for those who take gzip, and only for them', async () => {
  const fetchRaw = async (encoding: string): Promise<{ encoding: string | undefined; bytes: Buffer }> => {
    const headers = { Authorization: `Bearer ${sandbox.apiKey}`, 'Accept-Encoding': encoding };
    const response = await new Promise<IncomingMessage>((resolve) => {
      get(`${sandbox.url}/api/environments/1/persons/2/`, { headers }, resolve);
    });
    const bytes = Buffer.concat((await response.toArray()) as Buffer[]);
    return { encoding: response.headers['content-encoding'], bytes };
  };
  const packed = await fetchRaw('gzip, br');
  const plain = await fetchRaw('identity');
  expect([packed.encoding, plain.encoding]).toEqual(['gzip', undefined]);
  expect(gunzipSync(packed.bytes).equals(plain.bytes)).toBe(true);
});

it.each(['one', 'bulk'] as const)('deletes recordings with their person where that is asked for (%s)', async (how) => {
  const all = (): { id: string; distinct_id: string }[] =>
    sandbox.store.recordings.page({ limit: 100, offset: 0 }).documents.map((document) => JSON.parse(document) as never);
  const ownerOf = (distinctId: string) => sandbox.living().find(({ distinct_ids: ids }) => ids.includes(distinctId));
  const [first] = all();
  const person = ownerOf(first?.distinct_id ?? '');
  if (!person) throw new Error('a recording of no person');
  const isOwn = ({ distinct_id: id }: { distinct_id: string }): boolean => person.distinct_ids.includes(id);
  const others = all().filter((recording) => !isOwn(recording));
  const path = how === 'one' ? `/persons/${person.id}/?delete_recordings=true` : '/persons/bulk_delete/';
  const body = { ids: [person.uuid], delete_recordings: true };
  const call = how === 'one' ? { method: 'DELETE' } : { method: 'POST', body };
  // One uuid in sixteen is not deleted at the first request.
  for (let attempt = 0; ownerOf(first?.distinct_id ?? '') && attempt < 2; attempt += 1)
    expect(await status(path, call)).toBe(202);
  expect(all().some(isOwn)).toBe(true);
  await wait();
  expect(all()).toEqual(others);
});
