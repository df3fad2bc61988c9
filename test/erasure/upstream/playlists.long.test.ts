import { expect, it } from 'vitest';
import { scopes, type Scope } from '../../../src/contract/endpoints.ts';
import { refusals } from '../../../src/contract/error-body.ts';
import { hasRoute } from '../../../src/contract/identity.ts';
import { approveRequest } from '../../../src/erasure/receive.ts';
import { findRequest } from '../../../src/mirror/erasure-requests.ts';
import { finishPass, noteUntold, startPass } from '../../../src/mirror/passes.ts';
import type { LiveOptions } from '../../../src/sandbox/live/live-data.ts';
import { answer, openUpstreamWorld } from './upstream-world.ts';

/** A live service with a playlist of so many recordings, and a request for somebody who has entries in it. */
async function openPlaylist(length: number, live: Partial<LiveOptions> = {}) {
  const world = await openUpstreamWorld({ profile: 'live', recordings: 200, live });
  const { store, playlists, apiKey } = world.sandbox;
  const shortId = playlists.find((id) => store.playlists.members(id).length > 0) ?? '';
  for (const id of store.playlists.members(shortId)) store.playlists.removeRecording(shortId, id);
  const all = world.recorded().map(({ id }) => id);
  const ids = all.filter(hasRoute).slice(0, length);
  for (const id of ids) store.playlists.addRecording(shortId, id);
  const entriesOf = (...recordingIds: (string | undefined)[]) =>
    recordingIds.map((recordingId = '') => ({ shortId, recordingId }));
  const without = (scope: Scope): void => {
    world.sandbox.act({ do: 'set_scopes', key: apiKey, scopes: scopes.filter((each) => each !== scope) });
  };
  return { world, store, shortId, all, ids, entriesOf, without };
}

it('a refusal of an entry concerns its own request alone, and ends once the entry is gone or may be removed', async () => {
  const { world, store, shortId, ids, entriesOf, without } = await openPlaylist(5);
  const refused = world.request([world.person(0)], { memberships: entriesOf(ids[0], ids[1]) });
  const taken = world.request([world.person(1)], { memberships: entriesOf(ids[2]) });
  const others = [world.request([world.person(2)]), world.request([world.person(3)])];
  without('session_recording_playlist:write');
  const subjects = [refused, taken, ...others];
  for (let round = 0; round < 4; round += 1) {
    expect((await world.advance(subjects)).failed).toEqual([]);
    world.pass(300);
  }
  for (const subject of subjects) {
    expect(world.target(subject, 'person').result).toBe('deleted');
    expect(world.target(subject, 'recordings').result).toBe('not_applicable');
  }
  for (const other of others)
    expect(world.target(other, 'playlists')).toMatchObject({ result: 'not_applicable', assurance: 'observed' });
  const waiting = { status: 'attention', reason: 'playlist_refused' };
  expect(world.target(refused, 'playlists')).toMatchObject(waiting);
  expect(world.target(taken, 'playlists')).toMatchObject(waiting);
  // Four removals may be under way when the first is refused; the others are not sent.
  expect(world.changes().filter((line) => line.includes('_playlists/')).length).toBeLessThanOrEqual(4);

  // A colleague takes one out by hand.
  store.playlists.removeRecording(shortId, ids[2] ?? '');
  await world.advanceAfter(86_400, subjects);
  expect(world.target(refused, 'playlists')).toMatchObject(waiting);
  expect(world.target(taken, 'playlists')).toMatchObject({ result: 'removed', assurance: 'observed' });

  world.sandbox.act({ do: 'set_scopes', key: world.sandbox.apiKey, scopes: [...scopes] });
  await world.advanceAfter(86_400, subjects);
  expect(world.target(refused, 'playlists')).toMatchObject({ result: 'removed', assurance: 'observed' });
  expect(new Set(store.playlists.members(shortId))).toEqual(new Set([ids[3], ids[4]]));
});

const missing = JSON.stringify({ ...refusals.notFound, detail: 'Not found.', attr: null });
const denied = JSON.stringify({ ...refusals.permissionDenied, detail: 'Denied.' });

it('a key that is refused more than the entry still ends all', async () => {
  const { world, ids, entriesOf } = await openPlaylist(2);
  const subject = world.request([world.person(0)], { memberships: entriesOf(ids[0]) });
  // The person can be looked up and deleted; by the time of the playlist, the key is refused.
  world.answerTo(({ path }) => /_playlists\/|persons\/\?limit=1&/.test(path), answer(403, denied));
  await expect(world.advance([subject])).rejects.toMatchObject({ code: 'refused', status: 403 });
  expect(world.target(subject, 'playlists').status).toBe('intended');
});

it('an entry that is gone already is gone: the list tells after the error', async () => {
  const { world, store, shortId, ids, entriesOf } = await openPlaylist(3);
  const [first = '', second, third] = ids;
  const subject = world.request([world.person(0)], { memberships: entriesOf(first, second) });
  const other = world.request([world.person(1)], { memberships: entriesOf(third) });
  store.playlists.removeRecording(shortId, first);
  expect((await world.advance([subject, other])).failed).toEqual([]);
  expect(world.target(subject, 'playlists')).toMatchObject({ result: 'removed', assurance: 'observed' });
  expect(world.target(other, 'playlists')).toMatchObject({ result: 'removed', assurance: 'observed' });
  const ofSubject = world.ledger.records.find(
    (record) => record.type === 'result' && record.requests.includes(subject.id) && 'rows_removed' in record,
  );
  expect(ofSubject).toMatchObject({ target: 'upstream.playlists', rows_before: 2, rows_removed: 1 });
  expect(store.playlists.members(shortId)).toEqual([]);
});

it('an entry of a deleted recording is not gone because no list shows it, while its removal is refused', async () => {
  const { world, store, shortId, ids, entriesOf, without } = await openPlaylist(2);
  const [first = ''] = ids;
  const subject = world.request([world.person(0)], { memberships: entriesOf(first) });
  without('session_recording_playlist:write');
  store.recordings.delete(first);
  await world.advance([subject]);
  expect(world.target(subject, 'playlists')).toMatchObject({ status: 'attention', reason: 'playlist_refused' });
  expect(store.playlists.members(shortId)).toContain(first);
  // With the scope, and already gone: the errors of several tries.
  world.sandbox.act({ do: 'set_scopes', key: world.sandbox.apiKey, scopes: [...scopes] });
  store.playlists.removeRecording(shortId, first);
  world.pass(86_400);
  for (let tries = 0; tries < 3; tries += 1) {
    expect(world.target(subject, 'playlists').result).toBeNull();
    await world.advance([subject]);
    world.pass(300);
  }
  expect(world.target(subject, 'playlists')).toMatchObject({ result: 'removed', assurance: 'observed' });
});

it('an entry that is gone from a playlist of which no list tells all is never called gone', async () => {
  const { world, ids, entriesOf } = await openPlaylist(80);
  const subject = world.request([world.person(0)], { memberships: entriesOf('gone-before', ids[0]) });
  for (let tries = 0; tries < 3; tries += 1) {
    expect(world.target(subject, 'playlists').result).toBeNull();
    expect((await world.advance([subject])).failed).toEqual([]);
    world.pass(300);
  }
  expect(world.target(subject, 'playlists')).toMatchObject({ result: 'not_verifiable', assurance: 'not_verifiable' });
});

it('an entry of a playlist that is deleted is not called gone: who has deleted it can put it back', async () => {
  const { world, store, shortId, ids, entriesOf } = await openPlaylist(3);
  const subject = world.request([world.person(0)], { memberships: entriesOf(ids[0]) });
  world.answerTo(({ path }) => path.includes('_playlists/'), answer(404, missing));
  for (let tries = 0; tries < 3; tries += 1) {
    expect(world.target(subject, 'playlists').result).toBeNull();
    expect((await world.advance([subject])).failed).toEqual([]);
    world.pass(300);
  }
  expect(world.target(subject, 'playlists')).toMatchObject({ result: 'not_verifiable', assurance: 'not_verifiable' });
  expect(store.playlists.members(shortId)).toContain(ids[0]);
});

it.each([
  ['fails to remove', answer(500)],
  ['says that it has removed', answer(200, '{"success":true}')],
  ['does not find', answer(404, missing)],
])(
  'an entry that the service %s, and still shows, is for somebody to look at, and tried again',
  async (_how, reply) => {
    const { world, ids, entriesOf } = await openPlaylist(80);
    const [first] = ids;
    const subject = world.request([world.person(0)], { memberships: entriesOf(first) });
    world.answerTo(({ method, path }) => method === 'DELETE' && path.includes('_playlists/'), reply);
    expect((await world.advance([subject])).failed).toEqual([]);
    const target = world.target(subject, 'playlists');
    expect(target).toMatchObject({ status: 'attention', reason: 'outcome_unknown' });
    expect(target.seenAt).not.toBeNull();
    world.heal();
    await world.advanceAfter(300, [subject]);
    expect(world.target(subject, 'playlists')).toMatchObject({ result: 'removed', assurance: 'observed' });
  },
);

it.each([
  ['fails', answer(500)],
  ['redirects', answer(302)],
])('an entry that is removed from a playlist whose list %s keeps no request open', async (_how, reply) => {
  const { world, store, shortId, ids, entriesOf } = await openPlaylist(3);
  const subject = world.request([world.person(0)], { memberships: entriesOf(ids[0]) });
  world.answerTo(({ method, path }) => method === 'GET' && path.includes('/recordings'), reply);
  for (let tries = 0; tries < 3; tries += 1) {
    expect(world.target(subject, 'playlists').result).toBeNull();
    expect((await world.advance([subject])).failed).toEqual([]);
    world.pass(300);
  }
  expect(world.target(subject, 'playlists')).toMatchObject({ result: 'not_verifiable', assurance: 'not_verifiable' });
  expect(store.playlists.members(shortId)).not.toContain(ids[0]);
});

it('at a service that refuses the entries of playlists to every key, nothing else is held up', async () => {
  const { world, ids, entriesOf } = await openPlaylist(3, { playlistEntriesForKeys: false });
  const subject = world.request([world.person(0)], { memberships: entriesOf(ids[0]) });
  const other = world.request([world.person(1)]);
  await world.advance([subject, other]);
  expect(world.target(subject, 'playlists')).toMatchObject({ status: 'attention', reason: 'playlist_refused' });
  expect(world.target(other, 'playlists').result).toBe('not_applicable');
});

it('an id that no route takes is not gone for its 404', async () => {
  const { world, store, shortId, all, entriesOf } = await openPlaylist(0);
  const odd = all.find((id) => !hasRoute(id));
  store.playlists.addRecording(shortId, odd ?? '');
  const subject = world.request([world.person(0)], { memberships: entriesOf(odd) });
  await world.advance([subject]);
  expect(world.target(subject, 'playlists')).toMatchObject({ status: 'attention', reason: 'playlist_refused' });
  store.playlists.removeRecording(shortId, odd ?? '');
  await world.advanceAfter(86_400, [subject]);
  expect(world.target(subject, 'playlists')).toMatchObject({ result: 'removed', assurance: 'observed' });
});

it('where the mirror was not told the entries of a configured playlist, nothing is called observed', async () => {
  const { world, ids, entriesOf, shortId } = await openPlaylist(3);
  world.settings.playlists.shortIds = [shortId];
  const [unasked, removed] = [
    world.request([world.person(0)]),
    world.request([world.person(1)], { memberships: entriesOf(ids[0]) }),
  ];
  await world.advance([unasked, removed]);
  expect(world.target(unasked, 'playlists')).toMatchObject({ result: 'not_verifiable', assurance: 'not_verifiable' });
  expect(world.target(removed, 'playlists')).toMatchObject({ result: 'removed', assurance: 'not_verifiable' });

  const pass = (untold: Parameters<typeof noteUntold>[2]): void => {
    const at = '2025-06-04T12:00:00.000Z';
    const plan = JSON.stringify({ shortIds: [shortId] });
    const id = startPass(world.db, { dataset: 'playlists', mode: 'full', plan, at });
    noteUntold(world.db, id, untold);
    finishPass(world.db, id, null, at);
  };
  pass([]);
  const told = world.request([world.person(2)]);
  await world.advance([told]);
  expect(world.target(told, 'playlists')).toMatchObject({ result: 'not_applicable', assurance: 'observed' });
  pass([{ shortId, reason: 'cut' }]);
  const cut = world.request([world.person(3)]);
  await world.advance([cut]);
  expect(world.target(cut, 'playlists')).toMatchObject({ result: 'not_verifiable', assurance: 'not_verifiable' });
});

it.each([false, true])(
  "a proxy's page in place of a 404 takes no entry out; for the list, too: %s",
  async (isListToo) => {
    const { world, store, shortId, ids, entriesOf } = await openPlaylist(2);
    const subject = world.request([world.person(0)], { memberships: entriesOf(ids[0]) });
    world.intercept((request, send) => {
      const isAnswered = request.path.includes('_playlists/') && (isListToo || request.method === 'DELETE');
      return isAnswered ? Promise.resolve(answer(404, '<html></html>', 'text/html')) : send();
    });
    await world.advance([subject]);
    expect(world.target(subject, 'playlists')).toMatchObject({ status: 'attention', reason: 'playlist_refused' });
    expect(store.playlists.members(shortId)).toContain(ids[0]);
  },
);

it("a proxy's page in place of the list does not make an error the end of an entry", async () => {
  const { world, ids, entriesOf } = await openPlaylist(2);
  const subject = world.request([world.person(0)], { memberships: entriesOf(ids[0]) });
  world.intercept((request, send) => {
    if (!request.path.includes('_playlists/')) return send();
    return Promise.resolve(request.method === 'DELETE' ? answer(500, '{}') : answer(404, '<html></html>', 'text/html'));
  });
  await world.advanceTimes(3, 300, [subject]);
  expect(world.target(subject, 'playlists')).toMatchObject({ result: 'not_verifiable' });
});

it('an operator who does not wait for the events has not given up a playlist: one word is for one target', async () => {
  const { world, ids, entriesOf, without } = await openPlaylist(2);
  const person = world.person(0);
  world.sandbox.act({ do: 'delete_events', uuid: person.uuid });
  const subject = world.request([person], { memberships: entriesOf(ids[0]) });
  without('session_recording_playlist:write');
  await world.advance([subject]);
  expect(findRequest(world.db, subject.id)).toMatchObject({ state: 'attention', reason: 'events_queued_before' });
  const context = { ...world, ledger: () => world.ledger } as unknown as Parameters<typeof approveRequest>[0];
  const refused = { state: 'attention', reason: 'playlist_refused' };
  expect(approveRequest(context, subject.id)).toMatchObject(refused);
  await world.advance([subject]);
  expect(world.sandbox.store.lifecycle.idOf(person.uuid)).toBeUndefined();
  expect(world.target(subject, 'playlists').result).toBeNull();
  approveRequest(context, subject.id);
  expect(world.target(subject, 'playlists').result).toBe('not_deletable_by_key');
});
