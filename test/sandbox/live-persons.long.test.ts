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
  ['PATCH', '/persons/9999/', { properties: {} }],
  ['DELETE', '/persons/9999/'],
  ['POST', '/persons/9999/split/'],
  ['GET', '/persons/00000000-0000-4000-8000-000000000000/'],
  ['GET', '/persons/9999/activity/'],
])('%s %s is 404', async (method, path, body?: object) => {
  expect(await status(path, { method, body })).toBe(404);
});

type BulkResult = { persons_found: number; deletion_errors: { person_uuid: string }[]; ids_not_found?: string[] };
const nobodys = '00000000-0000-4000-8000-000000000001';
const bulkDelete = async (from: Sandbox, ids: readonly string[]): Promise<BulkResult> => {
  const answer = await ask(from, '/persons/bulk_delete/', { method: 'POST', body: { ids, delete_events: true } });
  expect(answer.status).toBe(202);
  return JSON.parse(answer.text) as BulkResult;
};
const uuidsIn = (from: Sandbox): string[] => [...from.living()].map(({ uuid }) => uuid);

it('queues the deletion of many at once, and the one of their events at once', async () => {
  const uuids = uuidsIn(sandbox).slice(0, 300);
  expect(await bulkDelete(sandbox, [...uuids, nobodys])).toEqual({
    persons_found: 300,
    persons_deleted: 0,
    persons_queued_for_deletion: 300,
    events_queued_for_deletion: true,
    recordings_queued_for_deletion: false,
    deletion_errors: [],
  });
  expect(uuidsIn(sandbox)).toHaveLength(600);
  expect(sandbox.store.events.deletions()).toHaveLength(300);
  await wait();
  expect(uuidsIn(sandbox)).toHaveLength(300);
});

it('makes a queued deletion within a minute, however few requests there are', async () => {
  const [uuid = ''] = uuidsIn(sandbox);
  await bulkDelete(sandbox, [uuid]);
  clock.set('2025-06-04T12:01:00Z');
  expect(await status(`/persons/${uuid}/`)).toBe(404);
  clock.set('2025-06-04T12:00:00Z');
});

it('gives a queued deletion up without a word, for one uuid in sixteen, where it is set so', async () => {
  await using silent = await smallSandbox({ profile: 'live', live: { queueGivesUp: true, actsAfterRequests: 0 } });
  const uuids = uuidsIn(silent);
  const given = uuids.filter((uuid) => uuid.endsWith('0'));
  expect(given.length).toBeGreaterThan(0);
  for (const left of [given, []]) {
    expect(await bulkDelete(silent, uuids)).toMatchObject({ deletion_errors: [] });
    for (let request = 0; request < 2; request += 1) await ask(silent, '/persons/?limit=1');
    expect(uuidsIn(silent).toSorted()).toEqual(left.toSorted());
  }
});

it('deletes many at once where it is set to, and says which it did not', async () => {
  await using sync = await smallSandbox({ profile: 'live', live: { bulkDeletion: 'sync', namesIdsNotFound: true } });
  const uuids = uuidsIn(sync);
  const first = await bulkDelete(sync, [...uuids, nobodys]);
  const failed = first.deletion_errors.map(({ person_uuid }) => person_uuid);
  expect(failed.length).toBeGreaterThan(0);
  expect(first).toMatchObject({ persons_found: 60, persons_deleted: 60 - failed.length, ids_not_found: [nobodys] });
  expect(uuidsIn(sync).toSorted()).toEqual(failed.toSorted());
  const again = await bulkDelete(sync, [...uuids, nobodys]);
  expect(again).toMatchObject({ persons_found: failed.length, deletion_errors: [] });
});

it('reads persons by 200 uuids or distinct ids, leaves out the rest and who is not there, and shows ten distinct ids', async () => {
  const people = [...sandbox.living()];
  const post = async (name: string, body: object): Promise<{ results: Record<string, LivePerson> }> =>
    json(`/persons/batch_by_${name}/`, { method: 'POST', body });
  const uuids = people.slice(0, 201).map(({ uuid }) => uuid);
  const byUuids = await post('uuids', { uuids: [nobodys, ...uuids] });
  expect(Object.keys(byUuids.results)).toEqual(uuids.slice(0, 199));
  const crowd = people.find(({ distinct_ids: ids }) => ids.length > 1000);
  const asked = ['nobody has it', crowd?.distinct_ids.at(-1) ?? '', people[0]?.distinct_ids[0] ?? ''];
  const { results } = await post('distinct_ids', { distinct_ids: asked });
  expect(Object.keys(results)).toEqual(asked.slice(1));
  expect(results[asked[1] ?? '']?.uuid).toBe(crowd?.uuid);
  expect(results[asked[1] ?? '']?.distinct_ids).toHaveLength(10);
  expect(await post('uuids', { uuids: [] })).toEqual({ results: {} });
  expect(await status('/persons/batch_by_uuids/', { method: 'POST', body: { uuids }, key: 'phx_unknown' })).toBe(401);
  await using older = await smallSandbox({ profile: 'live', live: { personBatches: false } });
  const answer = await ask(older, '/persons/batch_by_uuids/', { method: 'POST', body: { uuids } });
  expect([404, 405]).toContain(answer.status);
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
    const answer = await ask(sandbox, '/session_recordings/?date_from=yesterday');
    expect(answer.status).toBe(400);
    texts.push(answer.text);
  }
  expect(new Set(texts)).toEqual(
    new Set([
      '{"type":"validation_error","code":"invalid_input","detail":"Not a date.","attr":"date_from"}',
      '{"error":"Not a date."}',
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

const statusOf = (sandbox: Sandbox, uuid: string): Promise<{ created_at: string; status: string }[]> =>
  ask(sandbox, `/persons/deletion_status/?person_uuid=${uuid}`).then(
    ({ text }) => (JSON.parse(text) as { results: { created_at: string; status: string }[] }).results,
  );

// Fact 2 of the service, as read in November 2026: rows are unique, and its answer does not tell.
it.each([
  ['one_waiting', 1, 2],
  ['one_ever', 1, 1],
  ['always', 2, 3],
] as const)('rows of deletions of events, %s: %d before the batch, and %d after it', async (rows, before, after) => {
  let nowMs = Date.parse('2025-06-02T12:00:00Z');
  const moving = { ...clock, now: () => nowMs };
  await using live = await smallSandbox({ profile: 'live', clock: moving, live: { deletionRows: rows } });
  const person = [...live.living()].find(({ uuid }) => !uuid.endsWith('0'));
  const uuid = person?.uuid ?? '';
  const distinctId = person?.distinct_ids[0] ?? '';
  const event = (): void => live.store.events.add({ distinctId, event: 'seen', atMs: nowMs });
  const bulk = async (body: object): Promise<unknown> =>
    JSON.parse((await ask(live, '/persons/bulk_delete/', { method: 'POST', body: { ids: [uuid], ...body } })).text);
  event();
  // By its presence, whatever its value.
  expect(await bulk({ delete_events: true, keep_person: false })).toMatchObject({
    persons_deleted: 0,
    events_queued_for_deletion: true,
  });
  nowMs += 3 * 86_400_000;
  event();
  expect(await bulk({ delete_events: true, keep_person: true })).toMatchObject({ events_queued_for_deletion: true });
  expect(await statusOf(live, uuid)).toHaveLength(before);
  live.clock.moveTo(Date.parse('2025-06-08T05:00:00Z'));
  expect(live.store.events.count(distinctId)).toBe(rows === 'always' ? 0 : 1);
  expect((await statusOf(live, uuid)).every((row) => row.status === 'completed')).toBe(true);
  expect(await bulk({ delete_events: true })).toMatchObject({
    persons_queued_for_deletion: 1,
    events_queued_for_deletion: true,
  });
  expect(await statusOf(live, uuid)).toHaveLength(after);
});

it('a change without properties is refused before the person is looked up', async () => {
  const change = (body: unknown): Promise<number> => status('/persons/0/', { method: 'PATCH', body });
  expect([await change({}), await change({ properties: {} })]).toEqual([400, 404]);
});

it('persons are counted where the query asks for it, by its presence', async () => {
  expect(await list('limit=1&include_total=false')).toMatchObject({ count: 600 });
  expect(await list('limit=1')).not.toHaveProperty('count');
});

it('a key that is limited to a project lists no projects, unless the sandbox is told otherwise', async () => {
  const listed = (of: Sandbox): Promise<{ status: number }> => askUrl(`${of.url}/api/projects/`, { key: of.apiKey });
  expect(await listed(sandbox)).toMatchObject({ status: 403 });
  await using open = await smallSandbox({ profile: 'live', live: { projectsListed: true } });
  expect(await listed(open)).toMatchObject({ status: 200 });
});
