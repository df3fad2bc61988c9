import { expect, it } from 'vitest';
import type { Scope } from '../../src/contract/endpoints.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { LiveOptions } from '../../src/sandbox/live/live-data.ts';
import { ask, smallSandbox } from './sandbox-requests.ts';

const plain = '0a1b2c3d-0000-4000-8000-000000000001';

/** A live service with a playlist of 80 recordings, and a key with chosen scopes beside its own. */
async function openLive(live: Partial<LiveOptions> = {}, scopes: readonly Scope[] = []) {
  const sandbox = await smallSandbox({ profile: 'live', recordings: 80, live });
  const { store } = sandbox;
  const [shortId = ''] = sandbox.playlists;
  const ids = store.recordings
    .page({ limit: 80, offset: 0 })
    .documents.map((document) => (JSON.parse(document) as { id: string }).id);
  for (const id of ids) store.playlists.addRecording(shortId, id);
  store.apiKeys.issue('some_scopes', 1, scopes);
  const path = `/session_recording_playlists/${shortId}/recordings`;
  return { sandbox, store, shortId, ids, path, routed: ids.filter((id) => !/[/.]/.test(id)) };
}

const idsOf = (text: string): string[] =>
  (JSON.parse(text) as { results: { id: string }[] }).results.map(({ id }) => id);
const remove = (sandbox: Sandbox, path: string, key?: string) =>
  ask(sandbox, path, { method: 'DELETE', ...(key !== undefined && { key }) });

it('shows the first 50 recordings of a playlist, whatever limit and offset are asked for', async () => {
  const { sandbox, path } = await openLive();
  await using _closed = sandbox;
  const first = await ask(sandbox, `${path}/`);
  expect(JSON.parse(first.text)).toMatchObject({ has_next: true, version: 4 });
  expect(idsOf(first.text)).toHaveLength(50);
  const next = await ask(sandbox, `${path}/?limit=100&offset=50`);
  expect(idsOf(next.text)).toEqual(idsOf(first.text));
});

it('takes an entry out with 200, and answers 500 to one that is not there', async () => {
  const { sandbox, store, shortId, path, routed } = await openLive();
  await using _closed = sandbox;
  const entry = `${path}/${encodeURIComponent(routed[0] ?? '')}/`;
  expect(await remove(sandbox, entry)).toMatchObject({ status: 200, text: '{"success":true}' });
  expect(store.playlists.members(shortId)).toHaveLength(79);
  for (let times = 0; times < 2; times += 1) expect((await remove(sandbox, entry)).status).toBe(500);
  expect((await remove(sandbox, `${path}/${plain}/`)).status).toBe(500);
  expect((await remove(sandbox, `${path}/.${plain}./`)).status).toBe(404);
  expect((await remove(sandbox, `${path.replace(shortId, 'nosuch')}/${plain}/`)).status).toBe(404);
});

it('wants the scope of playlists for their entries', async () => {
  const scopes = ['session_recording_playlist:read', 'session_recording:write'] as const;
  const { sandbox, path, routed } = await openLive({}, scopes);
  await using _closed = sandbox;
  expect((await ask(sandbox, `${path}/`, { key: 'some_scopes' })).status).toBe(200);
  const entry = `${path}/${encodeURIComponent(routed[0] ?? '')}/`;
  expect((await remove(sandbox, entry, 'some_scopes')).status).toBe(403);
  sandbox.act({ do: 'set_scopes', key: 'some_scopes', scopes: ['session_recording:write'] });
  expect((await ask(sandbox, `${path}/`, { key: 'some_scopes' })).status).toBe(403);
});

it('before December 2025 refuses the entries of playlists to every key', async () => {
  const { sandbox, path, shortId } = await openLive({ playlistEntriesForKeys: false });
  await using _closed = sandbox;
  expect((await ask(sandbox, `/session_recording_playlists/${shortId}/`)).status).toBe(200);
  expect((await ask(sandbox, `${path}/`)).status).toBe(403);
  expect((await remove(sandbox, `${path}/${plain}/`)).status).toBe(403);
});

it('deletes a recording by its id for a key with the scope, and shows it nowhere any more', async () => {
  const { sandbox, routed } = await openLive({}, ['session_recording:read', 'person:write']);
  await using _closed = sandbox;
  const path = `/session_recordings/${encodeURIComponent(routed[0] ?? '')}/`;
  expect((await remove(sandbox, path, 'some_scopes')).status).toBe(403);
  expect((await ask(sandbox, path)).status).toBe(200);
  expect(await remove(sandbox, path)).toMatchObject({ status: 204, text: '' });
  expect((await ask(sandbox, path)).status).toBe(404);
  expect((await remove(sandbox, path)).status).toBe(404);
});

it('deletes many recordings in one call where keys may, or none by their ids at all', async () => {
  const many = { method: 'POST', body: { session_recording_ids: [plain] } };
  {
    const { sandbox, routed, store } = await openLive({ bulkDeletesRecordings: true });
    await using _closed = sandbox;
    const body = { session_recording_ids: [...routed.slice(0, 3), plain] };
    const { status, text } = await ask(sandbox, '/session_recordings/bulk_delete/', { ...many, body });
    expect([status, JSON.parse(text)]).toEqual([200, { success: true, deleted_count: 3, total_requested: 4 }]);
    expect(store.recordings.page({ limit: 1, offset: 0 }).count).toBe(77);
    const none = { method: 'POST', body: { session_recording_ids: [] } };
    expect((await ask(sandbox, '/session_recordings/bulk_delete/', none)).status).toBe(400);
  }
  const usual = await openLive();
  await using _usual = usual.sandbox;
  expect((await ask(usual.sandbox, '/session_recordings/bulk_delete/', many)).status).toBe(403);
  const never = await openLive({ deletesRecordings: false });
  await using _never = never.sandbox;
  expect((await ask(never.sandbox, '/session_recordings/bulk_delete/', many)).status).toBe(405);
  expect((await remove(never.sandbox, `/session_recordings/${plain}/`)).status).toBe(405);
});
