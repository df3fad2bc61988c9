import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Playlist } from '../../src/contract/resources.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { ask, smallSandbox, standingClock, type ListBody } from './sandbox-requests.ts';

const now = '2025-06-04T12:00:00.000Z';
let sandbox: Sandbox;
let path = '';
beforeEach(async () => {
  sandbox = await smallSandbox({ clock: standingClock(now) });
  path = `/session_recording_playlists/${sandbox.playlists[0]}`;
});
afterEach(() => sandbox.close());

const playlist = async (): Promise<Playlist> => JSON.parse((await ask(sandbox, path)).text) as Playlist;
const patch = (body: unknown) => ask(sandbox, path, { method: 'PATCH', body });
const recordingIds = async (): Promise<string[]> => {
  const { text } = await ask(sandbox, '/session_recordings');
  return (JSON.parse(text) as ListBody<{ id: string }>).results.map(({ id }) => id);
};

it('PATCH sets the given fields, keeps the others, and says who did it when', async () => {
  const before = await playlist();
  sandbox.store.apiKeys.issue('sandbox_third', 3, ['session_recording_playlist:write']);
  const fields = { name: 'Neu 🆕', derived_name: '', description: 'x', pinned: false, filters: [{ a: 1 }] };
  const answer = await ask(sandbox, path, {
    method: 'PATCH',
    body: { ...fields, id: 99, short_id: 'no' },
    key: 'sandbox_third',
  });
  expect(JSON.parse(answer.text)).toEqual({
    ...before,
    ...fields,
    last_modified_at: now,
    last_modified_by: sandbox.store.apiKeys.user(3),
  });
  expect(await playlist()).toEqual(JSON.parse(answer.text));
});

it('keeps filters exactly, null included', async () => {
  expect((await patch('{"filters":{"n":9007199254740993}}')).text).toContain('"filters":{"n":9007199254740993}');
  expect((await patch({ name: 'other' })).text).toContain('"filters":{"n":9007199254740993}');
  expect((await patch({ filters: null })).text).toContain('"filters":null');
});

it('soft delete leaves the record readable, and can be taken back', async () => {
  expect(JSON.parse((await patch({ deleted: true })).text)).toMatchObject({ deleted: true });
  expect(await playlist()).toMatchObject({ deleted: true });
  await patch({ deleted: false });
  expect(await playlist()).toMatchObject({ deleted: false });
});

it('DELETE is refused without a body, says what is allowed, and changes nothing', async () => {
  const before = await playlist();
  const answer = await ask(sandbox, path, { method: 'DELETE' });
  expect(answer).toMatchObject({ status: 405, text: '' });
  expect(answer.headers.get('allow')).toBe('GET, PATCH, OPTIONS');
  expect(await playlist()).toEqual(before);
});

it('members are put in once, counted with those watched, and taken out once', async () => {
  for (const id of sandbox.store.playlists.members(sandbox.playlists[0] ?? '')) {
    expect((await ask(sandbox, `${path}/recordings/${id}`, { method: 'DELETE' })).status).toBe(204);
  }
  const all = await recordingIds();
  for (const id of [...all, ...all]) {
    expect(await ask(sandbox, `${path}/recordings/${id}`, { method: 'POST' })).toMatchObject({ status: 200, text: '' });
  }
  const watched = all.filter((id) => sandbox.store.recordings.find(id)?.includes('"viewed":true')).length;
  expect(watched).toBeGreaterThan(0);
  expect((await playlist()).recordings_counts).toEqual({
    collection: { count: 12, watched_count: watched },
    saved_filters: { count: 0, watched_count: 0 },
  });
  expect(await ask(sandbox, `${path}/recordings`)).toMatchObject({ status: 200, text: '' });
  const member = `${path}/recordings/${all[0]}`;
  expect((await ask(sandbox, member, { method: 'DELETE' })).status).toBe(204);
  expect((await ask(sandbox, member, { method: 'DELETE' })).status).toBe(404);
  expect((await playlist()).recordings_counts['collection']).toMatchObject({ count: 11 });
});

it('does not know other short ids or recordings', async () => {
  const [id = ''] = await recordingIds();
  for (const [method, unknown] of [
    ['GET', '/session_recording_playlists/unknown'],
    ['PATCH', '/session_recording_playlists/unknown'],
    ['GET', '/session_recording_playlists/unknown/recordings'],
    ['POST', `/session_recording_playlists/unknown/recordings/${id}`],
    ['DELETE', `/session_recording_playlists/unknown/recordings/${id}`],
    ['POST', `${path}/recordings/unknown`],
    ['DELETE', `${path}/recordings/unknown`],
    ['GET', '/session_recordings/unknown'],
  ] as const) {
    expect([method, unknown, (await ask(sandbox, unknown, { method })).status]).toEqual([method, unknown, 404]);
  }
});

it.each([
  [{ pinned: 'yes' }, 'pinned'],
  [{ name: 1 }, 'name'],
  [{ deleted: null }, 'deleted'],
  [[], null],
])('refuses %j', async (body, attr) => {
  const answer = await patch(body);
  expect([answer.status, JSON.parse(answer.text)]).toEqual([400, expect.objectContaining({ attr })]);
});
