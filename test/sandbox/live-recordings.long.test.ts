import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { Recording } from '../../src/contract/resources.ts';
import { ask, smallSandbox, standingClock } from './sandbox-requests.ts';

type LiveRecording = {
  id: string;
  distinct_id: string;
  start_time: string;
  storage?: string;
  activity_score: number | null;
  start_url: string | null;
  person: { distinct_ids: string[]; uuid: string } | null;
};
type LivePage = { results: LiveRecording[]; has_next: boolean; version: number };

const now = '2025-06-04T12:00:00.000Z';
const clock = standingClock(now);
let sandbox: Sandbox;
beforeEach(async () => {
  clock.set(now);
  sandbox = await smallSandbox({ profile: 'live', recordings: 400, clock });
});
afterEach(() => sandbox.close());

const list = async (query: string): Promise<LivePage> =>
  JSON.parse((await ask(sandbox, `/session_recordings/?${query}`)).text) as LivePage;
const all = async (dateFrom = '-30d'): Promise<LiveRecording[]> => {
  const rows: LiveRecording[] = [];
  for (let offset = 0, hasNext = true; hasNext; offset += 200) {
    const page = await list(`limit=200&offset=${offset}&date_from=${dateFrom}`);
    rows.push(...page.results);
    hasNext = page.has_next;
  }
  return rows;
};

it('lists results, whether there are more, and a version: no count, no links', async () => {
  const page = await list('limit=5&date_from=-30d');
  expect(Object.keys(page)).toEqual(['results', 'has_next', 'version']);
  expect(page.has_next).toBe(true);
  expect(await list('limit=5&offset=5000')).toEqual({ results: [], has_next: false, version: 4 });
});

it('lists the last three days unless it is told from when on', async () => {
  const since = async (query: string, from: string): Promise<void> => {
    const { results } = await list(`limit=200&${query}`);
    const expected = (await all()).filter(({ start_time }) => start_time >= from).map(({ id }) => id);
    expect(results.map(({ id }) => id)).toEqual(expected);
  };
  await since('', '2025-06-01T12:00');
  await since('date_from=-1d', '2025-06-03T12:00');
  await since('date_from=-36h', '2025-06-03T00:00');
  await since('date_from=2025-05-31', '2025-05-31T00:00');
  await since('date_from=2025-06-02T06:00:00Z', '2025-06-02T06:00');
  expect((await all()).length).toBe(400);
  expect((await list('limit=200')).results.length).toBeLessThan(100);
});

it.each(['date_from=yesterday', 'date_to=-1d', 'order=asc', 'format=json'])('refuses %s', async (query) => {
  expect((await ask(sandbox, `/session_recordings/?${query}`)).status).toBe(400);
});

it('clamps a limit above its cap', async () => {
  const page = await list('limit=1000&date_from=-30d');
  expect(page.results.length).toBeLessThanOrEqual(200);
  expect(page.results.length).toBeGreaterThan(150);
  expect(page.has_next).toBe(true);
});

it('every recording can be retrieved by its id, whatever is in it', async () => {
  const rows = await all();
  const ids = rows.map(({ id }) => id);
  expect(new Set(ids).size).toBe(400);
  expect(Math.max(...ids.map((id) => id.length))).toBe(200);
  for (const text of ['/', '..', '"', '?', '%2F', '\\', '👩‍🚀']) expect(ids.some((id) => id.includes(text))).toBe(true);
  const odd = rows.filter(({ id }) => !/^[\w-]+$/.test(id)).slice(0, 60);
  for (const row of odd) {
    const { status, text } = await ask(sandbox, `/session_recordings/${encodeURIComponent(row.id)}/`);
    expect([status, JSON.parse(text)]).toEqual([200, row]);
  }
});

it('rows lack fields, have nulls, and have fields that no document has', async () => {
  const rows = await all();
  expect(rows.some((row) => !('storage' in row)) && rows.some(({ storage }) => storage !== undefined)).toBe(true);
  expect(rows.some(({ activity_score: score }) => score === null)).toBe(true);
  expect(rows.some(({ start_url: url }) => url === null)).toBe(true);
  expect(rows[0]).toMatchObject({
    expiry_time: expect.any(String) as string,
    recording_ttl: expect.any(Number) as number,
  });
});

it('shows the person who has the distinct id now, with ten of its distinct ids, or nobody, with a uuid of the distinct id, when it is gone', async () => {
  const rows = await all();
  const crowd = [...sandbox.living()].find(({ distinct_ids: ids }) => ids.length > 1000);
  const recorded = rows.find(({ distinct_id: id }) => crowd?.distinct_ids.includes(id) === true);
  expect(recorded?.person).toMatchObject({ uuid: crowd?.uuid, distinct_ids: crowd?.distinct_ids.slice(0, 10) });
  sandbox.act({ do: 'delete', uuid: crowd?.uuid ?? '' });
  const after = (await all()).find(({ id }) => id === recorded?.id);
  const noRow = { id: null, name: null, properties: {}, created_at: null };
  const uuid = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-5/) as string;
  expect(after).toEqual({ ...recorded, person: { ...noRow, distinct_ids: [recorded?.distinct_id], uuid } });
  expect(after?.person?.uuid).not.toBe(crowd?.uuid);
});

it('gives a person to a distinct id that nobody ever had: a uuid of the project and the distinct id', async () => {
  await using alone = await smallSandbox({ profile: 'live', persons: 0, recordings: 3, clock });
  const { text } = await ask(alone, '/session_recordings/?date_from=-30d');
  const persons = (JSON.parse(text) as LivePage).results.map(({ person }) => person);
  expect(persons).toHaveLength(3);
  // The UUID of version 5 of `1:deleted_since`, as other programs make it.
  for (const person of persons)
    expect(person).toMatchObject({ id: null, uuid: '997a39a1-55ae-5e62-a75b-69c92352b3fd' });
});

it('lists recordings of one moment by their id, and 50 of them without a limit', async () => {
  const document = sandbox.store.recordings.page({ limit: 1, offset: 0 }).documents[0] ?? '';
  const { person: _person, ...recording } = JSON.parse(document) as Recording;
  const ids = ['b', 'Z', 'a/1', '..', 'é', 'c'];
  const startMicros = Date.parse(now) * 1000 - 1;
  for (const id of ids) sandbox.store.recordings.add({ ...recording, id }, startMicros, 'null');
  const { results } = await list('');
  expect(results.slice(0, 6).map(({ id }) => id)).toEqual(ids.toSorted().toReversed());
  await using plain = await smallSandbox({ profile: 'live', recordings: 90, live: { ghostShare: 0 }, clock });
  const page = JSON.parse((await ask(plain, '/session_recordings/?date_from=-30d')).text) as LivePage;
  expect([page.results.length, page.has_next]).toEqual([50, true]);
});

it('recordings vanish by retention as the clock moves', async () => {
  const [oldest] = (await all()).toReversed();
  const path = `/session_recordings/${encodeURIComponent(oldest?.id ?? '')}/`;
  expect((await ask(sandbox, path)).status).toBe(200);
  sandbox.clock.moveTo(Date.parse(oldest?.start_time ?? '') + 30 * 86_400_000 + 1);
  expect((await ask(sandbox, path)).status).toBe(404);
  sandbox.clock.moveTo(Date.parse(now) + 31 * 86_400_000);
  expect(await all('-90d')).toEqual([]);
});

it('playlists have users and counts with nulls, and list their recordings', async () => {
  type Playlist = { created_by: object | null; recordings_counts: { collection: { count: number } } };
  const answers = await Promise.all(
    sandbox.playlists.map(async (shortId) => {
      const path = `/session_recording_playlists/${shortId}/`;
      const playlist = JSON.parse((await ask(sandbox, path)).text) as Playlist;
      const members = JSON.parse((await ask(sandbox, `${path}recordings/`)).text) as LivePage;
      expect(playlist).toMatchObject({
        last_modified_by: { role_at_organization: null, hedgehog_config: null },
        recordings_counts: { saved_filters: { count: null } },
      });
      expect(members).toMatchObject({ has_next: false });
      expect(members.results.map(({ id }) => id).toSorted()).toEqual(
        sandbox.store.playlists.members(shortId).toSorted(),
      );
      expect(members.results).toHaveLength(playlist.recordings_counts.collection.count);
      return members.results.length;
    }),
  );
  expect(Math.max(...answers)).toBeGreaterThan(5);
  const changed = await ask(sandbox, `/session_recording_playlists/${sandbox.playlists[0]}/`, {
    method: 'PATCH',
    body: { name: 'Renamed' },
  });
  expect(JSON.parse(changed.text)).toMatchObject({ name: 'Renamed', type: 'collection' });
});
