import { describe, expect, it } from 'vitest';
import { refusals } from '../../../src/contract/error-body.ts';
import { isoTime } from '../../../src/core/clock.ts';
import { changeTarget, type TargetChange } from '../../../src/mirror/erasure-targets.ts';
import { answer, openUpstreamWorld, type UpstreamWorld } from './upstream-world.ts';

const missing = JSON.stringify({ ...refusals.notFound, detail: 'Not found.', attr: null });

/** A request with the given recordings, for somebody who is gone already. */
function requestFor(
  world: UpstreamWorld,
  recordingIds: string[],
  memberships: { shortId: string; recordingId: string }[] = [],
) {
  const person = world.person(0);
  world.sandbox.act({ do: 'delete', uuid: person.uuid });
  const subject = world.request([person], { memberships });
  return { ...subject, identity: { ...subject.identity, recording_id: recordingIds } };
}

function recordingIds(world: UpstreamWorld, count: number): string[] {
  const ids = world.recorded().map(({ id }) => id);
  return ids.slice(0, count);
}

describe.each(['documented', 'live'] as const)('recordings at the %s service', (profile) => {
  it('that are there cannot be deleted: how many is recorded', async () => {
    const world = await openUpstreamWorld({ profile });
    const subject = requestFor(world, [...recordingIds(world, 7), 'gone-1', 'gone-2']);
    await world.advance([subject]);
    expect(world.target(subject, 'recordings')).toMatchObject({
      status: 'done',
      result: 'not_deletable_via_api',
      assurance: 'not_verifiable',
    });
    expect(world.ledger.records.findLast(({ type }) => type === 'result')).toMatchObject({
      target: 'upstream.recordings',
      rows_before: 7,
      rows_removed: 0,
    });
  });

  it('are absent once each was answered 404 twice, apart in time', async () => {
    const world = await openUpstreamWorld({ profile });
    const subject = requestFor(world, ['gone-1', 'gone-2', 'gone-3']);
    await world.advance([subject]);
    expect(world.target(subject, 'recordings')).toMatchObject({ status: 'waiting', confirmations: 1 });
    await world.advanceTwice([subject]);
    expect(world.asked.filter((line) => line.includes('/session_recordings/gone-'))).toHaveLength(6);
    expect(world.target(subject, 'recordings')).toMatchObject({ result: 'absent', assurance: 'observed' });
  });

  it('of which the key is refused one are not verifiable, and others go on', async () => {
    const world = await openUpstreamWorld({ profile });
    const subjects = [['hidden'], ['gone-1'], []].map((ids) => requestFor(world, ids));
    world.answerTo(({ path }) => path.includes('/session_recordings/hidden/'), answer(403, '{}'));
    expect(await world.advance(subjects)).toMatchObject({ ended: null, failed: [] });
    expect(subjects.map((subject) => world.target(subject, 'recordings'))).toMatchObject([
      { result: 'not_verifiable' },
      { status: 'waiting', confirmations: 1 },
      { result: 'not_applicable' },
    ]);
  });

  it('end all where the key may read no recording by its id', async () => {
    const world = await openUpstreamWorld({ profile });
    const subject = requestFor(world, recordingIds(world, 1));
    world.answerTo(({ path }) => /session_recordings\/[^?]/.test(path), answer(403, '{}'));
    await expect(world.advance([subject])).rejects.toMatchObject({ code: 'refused', status: 403 });
    expect(world.target(subject, 'recordings').status).toBe('pending');
  });

  it('of which there are none have no part in it', async () => {
    const world = await openUpstreamWorld({ profile });
    const subject = requestFor(world, []);
    await world.advance([subject]);
    expect(world.ledger.of('recordings')).toEqual(['result not_applicable']);
    expect(world.ledger.of('playlists')).toEqual(['result not_applicable']);
  });
});

it('a recording that cannot be asked for is not taken for gone', async () => {
  const world = await openUpstreamWorld();
  const subject = requestFor(world, ['..', 'gone-1']);
  await world.advance([subject]);
  expect(world.target(subject, 'recordings').result).toBe('not_deletable_via_api');
});

describe('playlists', () => {
  it('lose the recordings; one that was out already is out', async () => {
    const world = await openUpstreamWorld();
    const [shortId = ''] = world.sandbox.playlists;
    const members = world.sandbox.store.playlists.members(shortId);
    expect(members.length).toBeGreaterThan(1);
    const [first = '', second = ''] = members;
    const subject = requestFor(
      world,
      [],
      [
        { shortId, recordingId: first },
        { shortId, recordingId: second },
        { shortId, recordingId: 'gone' },
      ],
    );
    await world.advance([subject]);
    expect(world.sandbox.store.playlists.members(shortId)).toEqual(members.slice(2));
    expect(world.ledger.of('playlists')).toEqual(['intent', 'result removed']);
    expect(world.ledger.records.find((record) => 'rows_removed' in record)).toMatchObject({
      rows_before: 3,
      rows_removed: 2,
    });
    expect(world.target(subject, 'playlists').assurance).toBe('observed');
  });

  it('that fail, and of which no list tells, are tried again the next times, and then not called gone', async () => {
    const world = await openUpstreamWorld();
    const [shortId = ''] = world.sandbox.playlists;
    const [recordingId = ''] = world.sandbox.store.playlists.members(shortId);
    const subject = requestFor(world, [], [{ shortId, recordingId }]);
    world.answerTo(({ method }) => method === 'DELETE', answer(503));
    const other = { ...subject, ...world.request([world.person(1)]), memberships: subject.memberships };
    expect((await world.advance([subject, other])).failed).toEqual([]);
    expect(world.target(subject, 'playlists')).toMatchObject({ status: 'waiting', attempts: 1 });
    world.heal();
    await world.advanceAfter(300, [subject]);
    expect(world.target(subject, 'playlists')).toMatchObject({ result: 'removed', assurance: 'observed' });
    world.answerTo(({ method }) => method === 'DELETE', answer(503));
    for (let tries = 1; tries < 3; tries += 1) {
      expect(world.target(other, 'playlists').result).toBeNull();
      await world.advanceAfter(300, [other]);
    }
    expect(world.target(other, 'playlists')).toMatchObject({ result: 'not_verifiable', assurance: 'not_verifiable' });
  });

  it('keep entries of whom nobody has asked for as long as their recordings, and those that are shown with somebody who lives', async () => {
    const world = await openUpstreamWorld();
    world.settings.deletions.collectHours = 24;
    const [shortId = ''] = world.sandbox.playlists;
    const members = (): string[] => world.sandbox.store.playlists.members(shortId);
    const shown = world.recorded().find(({ id, person }) => members().includes(id) && person?.uuid !== undefined);
    const ofOther = members().find((id) => id !== shown?.id) ?? '';
    world.answerTo(({ path }) => path.endsWith(`/session_recordings/${ofOther}/`), answer(404, missing));
    const both = [shown?.id ?? '', ofOther];
    const memberships = both.map((recordingId) => ({ shortId, recordingId }));
    const subject = { ...requestFor(world, both, memberships), origin: 'upstream' as const };
    const before = members();
    await world.advance([subject]);
    expect([members(), world.target(subject, 'playlists').status]).toEqual([before, 'pending']);
    await world.advanceAfter(86_400, [subject]);
    expect(members()).toEqual(before.filter((id) => id !== ofOther));
    for (let tries = 1; tries < 3; tries += 1) await world.advanceAfter(300, [subject]);
    expect(world.target(subject, 'playlists')).toMatchObject({ result: 'not_verifiable', assurance: 'not_verifiable' });
    expect(members()).toEqual(before.filter((id) => id !== ofOther));
  });

  it('keep the entry of whom nobody has asked for where the service shows no recording by its id for now', async () => {
    const world = await openUpstreamWorld();
    const [shortId = ''] = world.sandbox.playlists;
    const members = (): string[] => world.sandbox.store.playlists.members(shortId);
    const [recordingId = ''] = members();
    const subject = { ...requestFor(world, [recordingId], [{ shortId, recordingId }]), origin: 'upstream' as const };
    world.answerTo(({ path }) => /\/session_recordings\/[^?/]+\/$/.test(path), answer(404, missing));
    expect((await world.advance([subject])).failed).not.toEqual([]);
    expect([members().includes(recordingId), world.target(subject, 'playlists').result]).toEqual([true, null]);
  });

  it('keep the entries of a person to whom a distinct id was left, and wait until that is decided', async () => {
    const world = await openUpstreamWorld();
    const [shortId = ''] = world.sandbox.playlists;
    const members = (): string[] => world.sandbox.store.playlists.members(shortId);
    const shown = world.recorded().find(({ id, person }) => members().includes(id) && person?.uuid !== undefined);
    const recordingId = shown?.id ?? '';
    const subject = requestFor(world, [recordingId], [{ shortId, recordingId }]);
    const changePerson = (change: TargetChange): void =>
      changeTarget(world.db, subject.id, 'upstream.person', change, isoTime(world.clock.now()));
    const far = '9999-01-01T00:00:00.000Z';
    changePerson({ status: 'attention', reason: 'distinct_id_elsewhere', notBefore: far });
    await world.advance([subject]);
    expect([members().includes(recordingId), world.target(subject, 'playlists').result]).toEqual([true, null]);
    changePerson({ status: 'waiting', reason: null });
    const decided = { ...subject, sharedWith: [shown?.person?.uuid ?? ''] };
    for (let tries = 0; tries < 3; tries += 1) await world.advanceAfter(300, [decided]);
    expect([members().includes(recordingId), world.target(subject, 'playlists').result]).toEqual([
      true,
      'not_verifiable',
    ]);
  });

  it('that refuse are for somebody to look at', async () => {
    const world = await openUpstreamWorld();
    const [shortId = ''] = world.sandbox.playlists;
    const subject = requestFor(world, [], [{ shortId, recordingId: 'x' }]);
    world.answerTo(({ method }) => method === 'DELETE', answer(400));
    await world.advance([subject]);
    expect(world.target(subject, 'playlists')).toMatchObject({ status: 'attention', reason: 'playlist_refused' });
  });
});
