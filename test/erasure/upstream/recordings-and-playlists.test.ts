import { describe, expect, it } from 'vitest';
import { answer, rig } from './rig.ts';

type Rig = Awaited<ReturnType<typeof rig>>;

/** A request with the given recordings, for somebody who is gone already. */
function requestFor(
  here: Rig,
  recordingIds: string[],
  memberships: { shortId: string; recordingId: string }[] = [],
) {
  const person = here.person(0);
  here.sandbox.act({ do: 'delete', uuid: person.uuid });
  const subject = here.request([person], { memberships });
  return { ...subject, identity: { ...subject.identity, recording_id: recordingIds } };
}

function recordingIds(here: Rig, count: number): string[] {
  return here.sandbox.store.recordings
    .page({ limit: count, offset: 0 })
    .documents.map((document) => (JSON.parse(document) as { id: string }).id);
}

describe.each(['documented', 'live'] as const)('recordings at the %s service', (profile) => {
  it('that are there cannot be deleted: how many is recorded', async () => {
    const here = await rig({ profile });
    const subject = requestFor(here, [...recordingIds(here, 7), 'gone-1', 'gone-2']);
    await here.advance([subject]);
    expect(here.target(subject, 'recordings')).toMatchObject({
      status: 'done',
      result: 'not_deletable_via_api',
      assurance: 'not_verifiable',
    });
    expect(here.ledger.records.findLast(({ type }) => type === 'result')).toMatchObject({
      target: 'upstream.recordings',
      rows_before: 7,
      rows_removed: 0,
    });
  });

  it('are absent once each was answered 404 twice, apart in time', async () => {
    const here = await rig({ profile });
    const subject = requestFor(here, ['gone-1', 'gone-2', 'gone-3']);
    await here.advance([subject]);
    expect(here.target(subject, 'recordings')).toMatchObject({ status: 'waiting', confirmations: 1 });
    await here.advance([subject]);
    here.pass(300);
    await here.advance([subject]);
    expect(here.asked.filter((line) => line.includes('/session_recordings/gone-'))).toHaveLength(6);
    expect(here.target(subject, 'recordings')).toMatchObject({ result: 'absent', assurance: 'observed' });
  });

  it('of which there are none have no part in it', async () => {
    const here = await rig({ profile });
    const subject = requestFor(here, []);
    await here.advance([subject]);
    expect(here.ledger.of('recordings')).toEqual(['result not_applicable']);
    expect(here.ledger.of('playlists')).toEqual(['result not_applicable']);
  });
});

it('a recording that cannot be asked for is not taken for gone', async () => {
  const here = await rig();
  const subject = requestFor(here, ['..', 'gone-1']);
  await here.advance([subject]);
  expect(here.target(subject, 'recordings').result).toBe('not_deletable_via_api');
});

describe('playlists', () => {
  it('lose the recordings; one that was out already is out', async () => {
    const here = await rig();
    const [shortId = ''] = here.sandbox.playlists;
    const members = here.sandbox.store.playlists.members(shortId);
    expect(members.length).toBeGreaterThan(1);
    const [first = '', second = ''] = members;
    const subject = requestFor(
      here,
      [],
      [
        { shortId, recordingId: first },
        { shortId, recordingId: second },
        { shortId, recordingId: 'gone' },
      ],
    );
    await here.advance([subject]);
    expect(here.sandbox.store.playlists.members(shortId)).toEqual(members.slice(2));
    expect(here.ledger.of('playlists')).toEqual(['intent', 'result removed']);
    expect(here.ledger.records.find((record) => 'rows_removed' in record)).toMatchObject({
      rows_before: 3,
      rows_removed: 2,
    });
    expect(here.target(subject, 'playlists').assurance).toBe('observed');
  });

  it('that fail are tried again the next time', async () => {
    const here = await rig();
    const [shortId = ''] = here.sandbox.playlists;
    const [recordingId = ''] = here.sandbox.store.playlists.members(shortId);
    const subject = requestFor(here, [], [{ shortId, recordingId }]);
    here.intercept((request, send) => (request.method === 'DELETE' ? Promise.resolve(answer(503)) : send()));
    const report = await here.advance([subject]);
    expect(report.failed).toMatchObject([{ requestId: subject.id, target: 'upstream.playlists' }]);
    expect(here.target(subject, 'playlists').status).toBe('intended');
    here.heal();
    await here.advance([subject]);
    expect(here.target(subject, 'playlists').result).toBe('removed');
  });

  it('that refuse are for somebody to look at', async () => {
    const here = await rig();
    const [shortId = ''] = here.sandbox.playlists;
    const subject = requestFor(here, [], [{ shortId, recordingId: 'x' }]);
    here.intercept((request, send) => (request.method === 'DELETE' ? Promise.resolve(answer(400)) : send()));
    await here.advance([subject]);
    expect(here.target(subject, 'playlists')).toMatchObject({
      status: 'attention',
      reason: 'upstream_refuses',
    });
  });
});
