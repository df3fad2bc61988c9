import { hasRoute } from '../../../src/contract/identity.ts';
import { describe, expect, it } from 'vitest';
import { answer, expectedBy, openUpstreamWorld, type UpstreamWorld } from './upstream-world.ts';

function ownRecordings(world: UpstreamWorld, distinctIds: readonly string[]): string[] {
  return world.recorded().flatMap(({ id, distinct_id: own }) => (distinctIds.includes(own) ? [id] : []));
}

/** A request for a person with recordings, at a service that deletes recordings after so many requests, and none by its id. */
async function openRecorded(actsAfterRequests: number, options: { profile?: 'documented' | 'live' } = {}) {
  const world = await openUpstreamWorld({
    deleteRecordings: 'auto',
    profile: 'live',
    recordings: 300,
    live: { actsAfterRequests, deletesRecordings: false },
    ...options,
  });
  const recorded = world.people().filter(({ uuid, distinct_ids: ids }) => {
    return !uuid.endsWith('0') && ownRecordings(world, ids).some(hasRoute);
  });
  const [person, other] = recorded;
  if (!person || !other) throw new Error('no person with recordings');
  const ids = ownRecordings(world, person.distinct_ids).filter(hasRoute);
  const request = world.request([person]);
  const subject = { ...request, identity: { ...request.identity, recording_id: ids } };
  return { world, person, other, subject, ids };
}

const sentWith = (world: UpstreamWorld): unknown[] => world.bulkBodies.map((body) => body.delete_recordings);

describe('recordings at a service that deletes them with their person', () => {
  it('are asked for in the deletion, and observed to be gone', async () => {
    const { world, subject, ids, other } = await openRecorded(3);
    await world.advance([subject]);
    expect(sentWith(world)).toEqual([true]);
    expect(world.target(subject, 'recordings')).toMatchObject({
      status: 'waiting',
      result: null,
      assurance: 'asserted_by_upstream',
      notBefore: expectedBy,
    });
    expect(world.ledger.of('recordings')).toEqual(['intent']);
    for (let hours = 0; hours < 18; hours += 6) {
      await world.advanceAfter(6 * 3600, [subject]);
    }
    expect(world.target(subject, 'recordings')).toMatchObject({ result: 'absent', assurance: 'observed' });
    expect(ownRecordings(world, other.distinct_ids).length).toBeGreaterThan(0);
    // Each time with the list, and one of its rows as a control.
    expect(world.asked.filter((line) => line.startsWith('GET /session_recordings/')).length).toBe(2 * (ids.length + 2));
  });

  it('that stay are told apart from those that cannot be deleted', async () => {
    const { world, subject, ids } = await openRecorded(1_000_000);
    await world.advance([subject]);
    await world.advanceAfter(6 * 3600, [subject]);
    expect(world.target(subject, 'recordings').status).toBe('waiting');
    const asked = world.asked.length;
    await world.advanceAfter(3600, [subject]);
    expect(world.asked.slice(asked).filter((line) => line.includes('/session_recordings/'))).toEqual([]);
    await world.advanceAt(expectedBy, [subject]);
    expect(world.target(subject, 'recordings')).toMatchObject({
      result: 'deletion_requested',
      assurance: 'asserted_by_upstream',
    });
    expect(world.ledger.records.findLast((record) => 'rows_removed' in record)).toMatchObject({
      result: 'deletion_requested',
      rows_before: ids.length,
      rows_removed: 0,
    });
  });

  it('that the mirror never saw are asked for too', async () => {
    const { world, person } = await openRecorded(3);
    const subject = world.request([person], { deleteEvents: false });
    await world.advance([subject]);
    expect(sentWith(world)).toEqual([true]);
    expect(world.target(subject, 'recordings').result).toBe('deletion_requested');
    await world.advance([subject]);
    expect(ownRecordings(world, person.distinct_ids)).toEqual([]);
  });

  it('stay where the settings say never', async () => {
    const { world, subject, person } = await openRecorded(0);
    world.settings.erasure.deleteRecordings = 'never';
    await world.advance([subject]);
    expect(world.asked.filter((line) => line.includes('delete_recordings'))).toEqual([]);
    expect(sentWith(world).filter(Boolean)).toEqual([]);
    expect(world.target(subject, 'recordings').result).toBe('not_deletable_via_api');
    expect(ownRecordings(world, person.distinct_ids)).not.toEqual([]);
  });

  it('are asked for by the deletion of one person where the bulk deletion fails; then no answer tells of them', async () => {
    const { world, subject, person } = await openRecorded(1_000_000);
    world.answerTo(({ body = '' }) => body.includes(person.uuid), answer(500));
    // Twice in company, with the time of the queue between.
    await world.advanceTimes(3, 600, [subject]);
    expect(world.singly()).toHaveLength(1);
    expect(world.singly()[0]).toMatch(/[?&]delete_recordings=true/);
    await world.advanceAt(expectedBy, [subject]);
    expect(world.target(subject, 'recordings')).toMatchObject({
      result: 'deletion_requested',
      assurance: 'not_verifiable',
    });
  });
});

describe('a service that does not delete recordings', () => {
  it('and has no bulk deletion is not asked for it', async () => {
    const { world, subject } = await openRecorded(0, { profile: 'documented' });
    await world.advance([subject]);
    expect(world.changes().filter((line) => line.includes('/persons/'))).toHaveLength(1);
    expect(world.asked.filter((line) => line.includes('delete_recordings'))).toEqual([]);
    expect(world.ledger.of('recordings')).toEqual(['intent', 'result not_deletable_via_api']);
  });

  it('and says nothing of them in its answer has not promised anything', async () => {
    const { world, subject } = await openRecorded(1_000_000);
    world.intercept(async (request, send) => {
      const reply = await send();
      if (!request.path.includes('bulk_delete')) return reply;
      return {
        ...reply,
        bytes: Buffer.from(reply.bytes.toString().replace(/"recordings_queued_for_deletion":\w+,/, '')),
      };
    });
    await world.advanceTwice([subject]);
    expect(world.target(subject, 'person').result).toBe('deleted');
    expect(world.target(subject, 'recordings')).toMatchObject({
      result: 'not_deletable_via_api',
      assurance: 'not_verifiable',
    });
  });

  it('and refuses the parameter still loses the person', async () => {
    const { world, subject, person } = await openRecorded(1_000_000);
    world.answerTo((request) => `${request.path}${request.body}`.includes('delete_recordings'), answer(400));
    await world.advanceTwice([subject]);
    expect(world.people().some(({ uuid }) => uuid === person.uuid)).toBe(false);
    expect(world.target(subject, 'person').result).toBe('deleted');
    expect(world.target(subject, 'recordings').result).toBe('not_deletable_via_api');
  });
});

it('a kill after the deletion leaves the request for the recordings known, and its answer unknown', async () => {
  const { world, subject } = await openRecorded(1_000_000);
  world.intercept(async (request, send) => {
    if (request.body?.includes('delete_recordings') !== true) return send();
    await send();
    throw new Error('killed');
  });
  await expect(world.advance([subject])).rejects.toThrow('killed');
  world.heal();
  world.restart();
  await world.advance([subject]);
  await world.advanceAt('2025-06-20T00:00:00.000Z', [subject]);
  expect(world.target(subject, 'recordings')).toMatchObject({
    result: 'deletion_requested',
    assurance: 'not_verifiable',
  });
});
