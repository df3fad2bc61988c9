import { describe, expect, it } from 'vitest';
import { scopes } from '../../../src/contract/endpoints.ts';
import { hasRoute } from '../../../src/contract/identity.ts';
import type { Subject } from '../../../src/erasure/request/box.ts';
import { isoTime } from '../../../src/core/clock.ts';
import { changeTarget, type TargetChange } from '../../../src/mirror/erasure-targets.ts';
import { newRunMemory } from '../../../src/erasure/upstream/context.ts';
import { placesOf } from '../../../src/erasure/upstream/delete-recordings.ts';
import { updateRequest } from '../../../src/mirror/erasure-requests.ts';
import type { LiveOptions } from '../../../src/sandbox/live/live-data.ts';
import { answer, openUpstreamWorld, type UpstreamWorld } from './upstream-world.ts';

const idsIn = (world: UpstreamWorld): string[] => world.recorded().map(({ id }) => id);

/** A live service, and a request for somebody who is gone there already, as it has said once, with so many recordings that are left. */
async function openLeft(count: number, live: Partial<LiveOptions> = {}, recordings = 60) {
  const world = await openUpstreamWorld({ profile: 'live', deleteRecordings: 'auto', recordings, live });
  const person = world.person(0);
  world.sandbox.act({ do: 'delete', uuid: person.uuid });
  const ids = idsIn(world).filter(hasRoute).slice(0, count);
  const request = world.request([person]);
  const of = (recording_id: string[]) => ({ ...request, identity: { ...request.identity, recording_id } });
  const sent = (): string[] => world.changes().filter((line) => line.startsWith('DELETE /session_recordings/'));
  const many = (): number => world.asked.filter((line) => line.startsWith('POST /session_recordings/')).length;
  const subject = of(ids);
  await world.advance([subject]);
  world.pass(300);
  return { world, ids, of, subject, sent, many };
}

/** A recording that is shown with a person, and that person by uuid. */
function recordedOfSomebody(world: UpstreamWorld): { id: string; uuid: string } {
  for (const { id, person } of world.recorded())
    if (hasRoute(id) && person?.uuid !== undefined) return { id, uuid: person.uuid };
  throw new Error('no recording of anybody');
}

async function advanceTwice(world: UpstreamWorld, subject: Subject): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    await world.advanceAfter(300, [subject]);
  }
}

describe('recordings that a live service deletes by their ids', () => {
  it('stay where nobody has asked for it, and they are shown with somebody else by now', async () => {
    for (const origin of ['upstream', 'manual'] as const) {
      const { world, of, sent } = await openLeft(2);
      const subject = { ...of([recordedOfSomebody(world).id]), origin };
      await world.advance([subject]);
      expect(sent()).toHaveLength(origin === 'upstream' ? 0 : 1);
      expect(world.target(subject, 'recordings').result).toBe(origin === 'upstream' ? 'not_verifiable' : null);
    }
  });

  it('stay with the person to whom a distinct id was left, and wait until that is decided', async () => {
    const { world, of, sent } = await openLeft(2);
    const { id, uuid } = recordedOfSomebody(world);
    const subject = of([id]);
    // Where bulk deletion takes the recordings too, they wait for their person anyway.
    world.restart();
    world.answerTo(({ path }) => path.includes('/persons/bulk_delete'), answer(404));
    const changePerson = (change: TargetChange): void =>
      changeTarget(world.db, subject.id, 'upstream.person', change, isoTime(world.clock.now()));
    const far = '9999-01-01T00:00:00.000Z';
    changePerson({ status: 'attention', reason: 'distinct_id_elsewhere', notBefore: far });
    await world.advance([subject]);
    expect([sent(), world.target(subject, 'recordings').result]).toEqual([[], null]);
    changePerson({ status: 'waiting', reason: null, notBefore: null });
    await advanceTwice(world, { ...subject, sharedWith: [uuid] });
    expect([sent(), world.target(subject, 'recordings').result]).toEqual([[], 'not_verifiable']);
  });

  it('stay with the person into whom the one was merged to whom a distinct id was left, and go where they are shown with nobody', async () => {
    const { world, of, sent } = await openLeft(2);
    const { id, uuid } = recordedOfSomebody(world);
    const other =
      world.recorded().find(({ id: one, person }) => hasRoute(one) && person && person.uuid !== uuid)?.id ?? '';
    world.sandbox.act({ do: 'delete', uuid });
    await world.advance([{ ...of([id, other]), sharedWith: ['0190c0de-0000-7000-8000-000000000001'] }]);
    const left = idsIn(world);
    expect([left.includes(id), left.includes(other), sent()]).toEqual([false, true, [expect.any(String)]]);
  });

  it('of whom nobody has asked for wait for a day, and stay where the service still shows the person by an integer id', async () => {
    const world = await openUpstreamWorld({ profile: 'live', deleteRecordings: 'auto', recordings: 60 });
    world.settings.deletions.collectHours = 24;
    const { id, uuid } = recordedOfSomebody(world);
    const ask = (): Subject => {
      const request = {
        ...world.request(world.people().filter((person) => person.uuid === uuid)),
        origin: 'upstream' as const,
      };
      const gone = { status: 'done', result: 'already_absent' } as const;
      changeTarget(world.db, request.id, 'upstream.person', gone, isoTime(world.clock.now()));
      return { ...request, identity: { ...request.identity, person_uuid: [uuid], recording_id: [id] } };
    };
    const sent = (): string[] => world.changes().filter((line) => line.startsWith('DELETE /session_recordings/'));
    const shown = ask();
    await world.advanceAfter(86_400, [shown]);
    expect([sent(), world.target(shown, 'recordings').result]).toEqual([[], 'not_deletable_via_api']);
    world.sandbox.act({ do: 'delete', uuid });
    const subject = ask();
    // Reads of a service can stand still, and know nobody who is new.
    await world.advanceAfter(86_399, [subject]);
    expect(sent()).toEqual([]);
    await world.advanceAfter(1, [subject]);
    expect(sent()).toHaveLength(1);
  });

  it.each([
    [null, null, 1],
    [null, '2025-01-01T00:00:00Z', 0],
    [7, null, 0],
  ])('are deleted where a uuid that nobody has is shown with id %s, created %s: %i', async (id, createdAt, deleted) => {
    const { world, ids, of, sent } = await openLeft(1);
    const subject = { ...of(ids), origin: 'upstream' as const };
    const path = `/session_recordings/${encodeURIComponent(ids[0] ?? '')}/`;
    world.intercept(async (request, send) => {
      const reply = await send();
      if (request.method !== 'GET' || !request.path.endsWith(path) || reply.status !== 200) return reply;
      const recording = JSON.parse(reply.bytes.toString('utf8')) as { distinct_id: string };
      // A live service makes it of the distinct id, which need not be the one that the deleted person was made of.
      const uuid = '5f3a9c1e-0d2b-5a7c-8e4f-112233445566';
      const person = { id, uuid, name: null, properties: {}, created_at: createdAt, distinct_ids: ['gone'] };
      return answer(200, JSON.stringify({ ...recording, distinct_id: 'gone', person }));
    });
    await world.advance([subject]);
    expect(sent()).toHaveLength(deleted);
    expect(world.target(subject, 'recordings').result).toBe(deleted === 0 ? 'not_verifiable' : null);
  });

  it.each([
    ['a refusal', answer(400, '{"type":"validation_error","code":"invalid_input","detail":"no","attr":null}')],
    ['a row that cannot be read', answer(200, '{"id":7}')],
  ])('stay behind %s, where nobody has asked for them or an id was left to somebody', async (_name, reply) => {
    for (const whose of ['left', 'unasked'] as const) {
      const { world, of, sent } = await openLeft(2);
      const { id, uuid } = recordedOfSomebody(world);
      const path = `/session_recordings/${encodeURIComponent(id)}/`;
      world.answerTo((request) => request.method === 'GET' && request.path.endsWith(path), reply);
      const how = whose === 'left' ? { sharedWith: [uuid] } : { origin: 'upstream' as const };
      const subject = { ...of([id]), ...how };
      await world.advance([subject]);
      expect([whose, sent(), world.target(subject, 'recordings').result]).toEqual([whose, [], 'not_verifiable']);
    }
  });

  it('are deleted though their person is gone, once each, and seen to be gone as often as a person', async () => {
    const { world, ids, subject, sent } = await openLeft(9);
    await world.advance([subject]);
    expect(sent()).toHaveLength(9);
    expect(idsIn(world).filter((id) => ids.includes(id))).toEqual([]);
    expect(world.target(subject, 'recordings')).toMatchObject({ status: 'waiting', confirmations: 0, sentRows: 9 });
    expect(world.ledger.of('recordings')).toEqual(['intent']);
    await world.advanceAfter(300, [subject]);
    expect(world.target(subject, 'recordings')).toMatchObject({ status: 'waiting', confirmations: 1 });
    await world.advanceAfter(300, [subject]);
    expect(world.target(subject, 'recordings')).toMatchObject({ result: 'deleted', assurance: 'observed' });
    expect(world.ledger.records.findLast((record) => 'rows_removed' in record)).toMatchObject({
      target: 'upstream.recordings',
      rows_before: 9,
      rows_removed: 9,
    });
    expect(sent()).toHaveLength(9);
  });

  it('are deleted a hundred by one call where keys may', async () => {
    const { world, ids, subject, sent, many } = await openLeft(230, { bulkDeletesRecordings: true }, 400);
    expect(ids).toHaveLength(230);
    await world.advance([subject]);
    expect([many(), sent().length]).toEqual([3, 0]);
    await advanceTwice(world, subject);
    expect(world.target(subject, 'recordings')).toMatchObject({ result: 'deleted', assurance: 'observed' });
  });

  it.each([400, 404, 500])('are deleted one by one where the call for many is answered %i', async (status) => {
    const { world, subject, sent, many } = await openLeft(30, { bulkDeletesRecordings: true }, 100);
    world.answerTo(({ path }) => path.includes('/session_recordings/bulk_delete'), answer(status));
    await world.advance([subject]);
    expect([many(), sent().length]).toEqual([1, 30]);
  });

  it('are deleted one by one where the call for many passes some over', async () => {
    const { world, subject, sent, many } = await openLeft(30, { bulkDeletesRecordings: true }, 100);
    const passedOver = answer(200, '{"success":true,"deleted_count":28,"total_requested":30,"failed_ids":[]}');
    world.answerTo(({ path }) => path.includes('/session_recordings/bulk_delete'), passedOver);
    await world.advance([subject]);
    expect([many(), sent().length]).toEqual([1, 30]);
    await advanceTwice(world, subject);
    expect(world.target(subject, 'recordings')).toMatchObject({ result: 'deleted', assurance: 'observed' });
  });

  it('stay where the key may not, and the certificate is told so; no more than a few are tried', async () => {
    const { world, ids, subject, sent } = await openLeft(40, {}, 100);
    const { apiKey } = world.sandbox;
    world.sandbox.act({
      do: 'set_scopes',
      key: apiKey,
      scopes: scopes.filter((scope) => scope !== 'session_recording:write'),
    });
    await world.advance([subject]);
    expect(sent().length).toBeLessThanOrEqual(5);
    expect(world.target(subject, 'recordings')).toMatchObject({
      result: 'not_deletable_by_key',
      assurance: 'not_verifiable',
    });
    expect(world.ledger.records.findLast((record) => 'rows_removed' in record)).toMatchObject({
      rows_before: 40,
      rows_removed: 0,
    });
    expect(idsIn(world)).toEqual(expect.arrayContaining(ids));
  });

  it('stay where the service has no such call', async () => {
    const { world, of, ids, sent } = await openLeft(8, { deletesRecordings: false });
    const other = { ...of(ids.slice(4)), ...world.request([]) };
    const others = { ...other, identity: { ...of(ids.slice(4)).identity } };
    const subjects = [of(ids.slice(0, 4)), others];
    await world.advance([others]);
    await world.advanceAfter(300, subjects);
    // Two subjects are asked about at once.
    expect(sent().length).toBeLessThanOrEqual(2);
    for (const subject of subjects) expect(world.target(subject, 'recordings').result).toBe('not_deletable_via_api');
  });

  it('are not touched where the settings say never', async () => {
    const { world, ids, subject, sent, many } = await openLeft(4);
    world.settings.erasure.deleteRecordings = 'never';
    await world.advance([subject]);
    expect([sent().length, many()]).toEqual([0, 0]);
    expect(world.target(subject, 'recordings').result).toBe('not_deletable_via_api');
    expect(idsIn(world)).toEqual(expect.arrayContaining(ids));
  });

  it('one that is refused for itself keeps none of the others', async () => {
    const { world, ids, subject } = await openLeft(12);
    const [own = ''] = ids;
    world.answerTo(({ method, path }) => method === 'DELETE' && path.includes(encodeURIComponent(own)), answer(403));
    await world.advance([subject]);
    expect(idsIn(world).filter((id) => ids.includes(id))).toEqual([own]);
    await world.advanceAfter(300, [subject]);
    expect(world.target(subject, 'recordings').result).toBe('not_deletable_by_key');
    expect(world.ledger.records.findLast((record) => 'rows_removed' in record)).toMatchObject({
      rows_before: 12,
      rows_removed: 11,
    });
  });

  it('one at which the service fails is for somebody to look at, and tried again', async () => {
    const { world, ids, subject } = await openLeft(3);
    const other = world.request([world.person(1)]);
    const [own = ''] = ids;
    world.answerTo(({ method, path }) => method === 'DELETE' && path.includes(encodeURIComponent(own)), answer(500));
    expect((await world.advance([subject, other])).failed).toEqual([]);
    expect(world.target(subject, 'recordings')).toMatchObject({ status: 'attention', reason: 'outcome_unknown' });
    world.heal();
    for (let round = 0; round < 3; round += 1) {
      await world.advanceAfter(300, [subject]);
    }
    expect(world.target(subject, 'recordings')).toMatchObject({ result: 'deleted', assurance: 'observed' });
  });

  it('a service that only says so is not believed, and what is sent again is not counted again', async () => {
    const { world, of, ids } = await openLeft(2);
    const subject = of([...ids, 'gone-before']);
    world.answerTo(({ method }) => method === 'DELETE', answer(204));
    await world.advance([subject]);
    expect(world.target(subject, 'recordings').status).toBe('waiting');
    await world.advanceAfter(300, [subject]);
    expect(world.target(subject, 'recordings')).toMatchObject({ status: 'attention', reason: 'outcome_unknown' });
    await world.advanceAfter(300, [{ ...subject, ...of(ids) }]);
    expect(world.target(subject, 'recordings')).toMatchObject({ sentRows: 2 });
  });

  it.each([400, 405])(
    'one whose id is refused (%i), to be read and to be deleted, keeps none of the others, and ends',
    async (status) => {
      const { world, of, ids } = await openLeft(3);
      const subject = of(['bulk_delete', ...ids]);
      world.intercept((request, send) => {
        if (!request.path.includes('/session_recordings/bulk_delete') || request.method === 'POST') return send();
        return Promise.resolve(answer(status, '{}'));
      });
      for (let round = 0; round < 3; round += 1) {
        expect((await world.advance([subject])).failed).toEqual([]);
        world.pass(300);
      }
      expect(idsIn(world).filter((id) => ids.includes(id))).toEqual([]);
      expect(world.target(subject, 'recordings').result).toBe('not_deletable_via_api');
    },
  );

  it('a page in place of a 404 does not say that one is gone', async () => {
    const { world, ids, subject } = await openLeft(2);
    world.answerTo(({ path }) => /session_recordings\/[^/?]/.test(path), answer(404, '<html></html>', 'text/html'));
    await world.advance([subject]);
    await advanceTwice(world, subject);
    expect(world.target(subject, 'recordings')).toMatchObject({
      result: 'not_verifiable',
      assurance: 'not_verifiable',
    });
    expect(idsIn(world)).toEqual(expect.arrayContaining(ids));
  });

  it('too many requests: a deletion is sent again', async () => {
    const { world, subject, sent } = await openLeft(2);
    let deletes = 0;
    world.intercept((request, send) => {
      if (request.method !== 'DELETE' || (deletes += 1) > 1) return send();
      return Promise.resolve({ ...answer(429), retryAfter: '30' });
    });
    expect((await world.advance([subject])).failed).toEqual([]);
    expect(sent()).toHaveLength(3);
    expect(world.target(subject, 'recordings')).toMatchObject({ status: 'waiting', sentRows: 2 });
  });

  it('with ids that no route takes are not called gone', async () => {
    const { world, of, ids } = await openLeft(2);
    const odd = idsIn(world).find((id) => !hasRoute(id)) ?? '';
    const there = of([...ids, odd]);
    await world.advance([there]);
    await advanceTwice(world, there);
    expect(world.target(there, 'recordings')).toMatchObject({ result: 'not_deletable_via_api' });
    expect(idsIn(world)).toContain(odd);
  });

  it('with an id that no route takes, and answered 404, is not verifiable', async () => {
    const { world, of } = await openLeft(0);
    const subject = of(['.nothing-shows-it.']);
    await world.advance([subject]);
    expect(world.target(subject, 'recordings')).toMatchObject({
      result: 'not_verifiable',
      assurance: 'not_verifiable',
    });
  });

  it('a kill between two deletions loses nothing, and none is certified that was not seen to be gone', async () => {
    const { world, ids, subject } = await openLeft(20, {}, 60);
    let deletes = 0;
    world.intercept(async (request, send) => {
      const reply = await send();
      if (request.method === 'DELETE' && (deletes += 1) === 10) throw new Error('killed');
      return reply;
    });
    await expect(world.advance([subject])).rejects.toThrow('killed');
    expect(world.target(subject, 'recordings').status).toBe('intended');
    world.heal();
    world.restart();
    await world.advance([subject]);
    expect(idsIn(world).filter((id) => ids.includes(id))).toEqual([]);
    await advanceTwice(world, subject);
    expect(world.target(subject, 'recordings')).toMatchObject({ result: 'deleted', assurance: 'observed' });
    expect(world.ledger.records.findLast((record) => 'rows_removed' in record)).toMatchObject({
      rows_before: 20,
      rows_removed: 20,
    });
  });

  it('where others want the data folder after each step, each is deleted once, and seen to be gone as often as ever', async () => {
    const { world, ids, subject, sent } = await openLeft(20, {}, 60);
    const memory = newRunMemory();
    /** Takes a part of the way at a time, until all is done that can be done now. Returns in how many. */
    const advanceInParts = async (): Promise<number> => {
      for (let parts = 1; ; parts += 1) {
        const stop = new AbortController();
        const part = { signal: stop.signal, onStep: () => stop.abort(new Error('gave way')) };
        try {
          await world.advance([subject], undefined, { ...memory, part });
          return parts;
        } catch (error) {
          expect(String(error)).toContain('gave way');
        }
      }
    };
    const looks = (): number => world.asked.filter((line) => /^GET .session_recordings.[^/?]/.test(line)).length;
    const before = looks();
    expect(await advanceInParts()).toBeGreaterThan(8);
    // Of four that are asked for at once, the first answer breaks off the others.
    expect(looks() - before).toBeLessThan(60);
    expect([sent().length, memory.answers.size]).toEqual([20, 0]);
    expect(idsIn(world).filter((id) => ids.includes(id))).toEqual([]);
    expect(world.target(subject, 'recordings')).toMatchObject({ status: 'waiting', confirmations: 0, sentRows: 20 });
    for (const confirmations of [1, 2]) {
      world.pass(300);
      await advanceInParts();
      expect([world.target(subject, 'recordings').confirmations, memory.answers.size]).toEqual([1, 0]);
      expect(looks() - before).toBeGreaterThanOrEqual(20 * (confirmations + 1));
    }
    expect(world.target(subject, 'recordings')).toMatchObject({ result: 'deleted', assurance: 'observed' });
  });

  it('are asked for again where an operator leaves an id to somebody, or a pass lists the person again, while others have their turn', async () => {
    for (const isDecision of [true, false]) {
      const { world, ids, of, sent } = await openLeft(8);
      const subject = { ...of(ids), origin: isDecision ? ('manual' as const) : ('upstream' as const) };
      const memory = newRunMemory();
      for (const id of ids) memory.answers.set(placesOf(world, subject)(id), 'there');
      const shownWith = new Set(
        world.recorded().flatMap(({ id, person }) => (ids.includes(id) ? (person?.uuid ?? []) : [])),
      );
      if (!isDecision) updateRequest(world.db, subject.id, { listedAgainPass: 7 });
      const decided = isDecision ? { ...subject, sharedWith: [...shownWith] } : subject;
      await world.advance([decided], undefined, memory);
      expect(sent()).toEqual([]);
    }
  });
});
