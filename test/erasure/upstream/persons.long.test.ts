import { describe, expect, it } from 'vitest';
import type { Subject } from '../../../src/erasure/request/box.ts';
import { answer, expectedBy, isDeletion, openAsked, openUpstreamWorld, type UpstreamWorld } from './upstream-world.ts';

/** A subject that is known by other distinct ids than the service shows, all of which were weighed before. */
function knownBy(subject: Subject, distinctIds: string[]): Subject {
  const { distinct_id: shown } = subject.identity;
  const row = { person_uuid: null, person_id: null, distinct_ids: [...shown], recording_id: null, values: [] };
  return { ...subject, identity: { ...subject.identity, distinct_id: distinctIds }, shown: [row] };
}

/** A request for somebody new with these distinct ids. */
function requestOf(world: UpstreamWorld, distinctIds: string[]): Subject {
  const [created] = world.sandbox.act({ do: 'create', distinct_ids: distinctIds }).created;
  return world.request(world.people().filter(({ uuid }) => uuid === created));
}

describe.each(['documented', 'live'] as const)('a person of the %s service', (profile) => {
  const ref = (person: { id: number }): number => person.id;

  it('is deleted once, with its events, and confirmed twice, apart in time', async () => {
    const { world, person, subject } = await openAsked({ profile });
    const report = await world.advance([subject]);
    expect(world.changes()).toEqual([`DELETE /persons/${ref(person)}/?delete_events=true`]);
    expect(world.sandbox.store.persons.find(person.id)).toBeUndefined();
    expect(world.target(subject, 'person')).toMatchObject({
      status: 'waiting',
      confirmations: 1,
      notBefore: '2025-06-04T12:05:00.000Z',
    });
    expect(report).toEqual({
      awaiting: [{ requestId: subject.id, eventsExpectedBy: expectedBy }],
      failed: [],
      wider: [],
      ended: null,
    });
    world.forget();
    await world.advanceAfter(299, [subject]);
    expect(world.asked).toEqual([]);
    await world.advanceAfter(1, [subject]);
    expect(world.target(subject, 'person')).toMatchObject({ status: 'done', result: 'deleted', assurance: 'observed' });
    expect(world.changes()).toEqual([]);
    expect(world.ledger.of('person')).toEqual(['intent', 'result deleted']);
    expect(world.asked.filter((line) => line.includes('distinct_id='))).toHaveLength(person.distinct_ids.length);
  });

  it('keeps its events unless they are to be deleted: the parameter is not even there', async () => {
    const { world, person, subject } = await openAsked({ profile, index: 3, fields: { deleteEvents: false } });
    const report = await world.advance([subject]);
    expect(world.changes()).toEqual([`DELETE /persons/${ref(person)}/`]);
    expect(world.sandbox.store.events.deletions()).toEqual([]);
    expect(world.target(subject, 'events')).toMatchObject({ status: 'done', result: 'kept', assurance: 'observed' });
    expect(report.awaiting).toEqual([]);
  });

  it('that one request deletes with its events is left to that one by another that keeps them', async () => {
    const world = await openUpstreamWorld({ profile });
    const person = world.person(3);
    const narrow = world.request([person], { deleteEvents: false });
    const wide = world.request([person]);
    const subjects = [narrow, wide];
    world.answerTo(isDeletion, answer(429));
    await world.advance(subjects);
    expect(world.changes().every((line) => line.endsWith('?delete_events=true'))).toBe(true);
    world.heal();
    world.forget();
    await world.advanceTwice(subjects);
    expect(world.changes()).toEqual([`DELETE /persons/${ref(person)}/?delete_events=true`]);
    expect(world.target(wide, 'person').result).toBe('deleted');
    await world.advanceAfter(300, subjects);
    expect(world.target(narrow, 'person').result).toBe('already_absent');
    expect(world.target(narrow, 'events').result).toBe('kept');
    expect(world.sandbox.store.events.deletions()).toHaveLength(1);
  });

  it.each([
    ['in other words', answer(404, '<html></html>', 'text/html')],
    ['in its own', answer(404)],
  ])('whose id is answered 404 %s, as every id is, is neither gone nor confirmed', async (_words, missing) => {
    const world = await openUpstreamWorld({ profile });
    const subjects = [world.request([world.person(0)]), world.request([world.person(1)])] as const;
    await world.advance([subjects[1]]);
    world.pass(300);
    world.intercept((request, send) => {
      const isById = /\/(?:persons|session_recordings)\/[^/?]+\/$/.test(request.path) && request.method === 'GET';
      return isById ? Promise.resolve(missing) : send();
    });
    const { failed } = await world.advance(subjects);
    expect(failed.map(({ error }) => error.code)).toEqual(['service', 'service']);
    expect(subjects.map((subject) => world.target(subject, 'person').result)).toEqual([null, null]);
    world.heal();
    await world.advance(subjects);
    expect(world.target(subjects[1], 'person').result).toBe('deleted');
  });

  it('is deleted whatever else its row holds', async () => {
    const { world, person, subject } = await openAsked({ profile });
    const deep = `{"a":${'['.repeat(300)}${']'.repeat(300)}}`;
    world.intercept(async (_request, send) => {
      const response = await send();
      return {
        ...response,
        bytes: Buffer.from(
          response.bytes.toString().replace('"properties":{', `"properties":${deep},"name":5,"more":{`),
        ),
      };
    });
    await world.advance([subject]);
    expect(world.sandbox.store.persons.find(person.id)).toBeUndefined();
    expect(world.target(subject, 'person')).toMatchObject({ status: 'waiting', confirmations: 1 });
  });

  it('that is not there is absent already, without an intent', async () => {
    const world = await openUpstreamWorld({ profile });
    const person = world.person(1);
    world.sandbox.act({ do: 'delete', uuid: person.uuid });
    const subject = world.request([person]);
    await world.advance([subject]);
    expect(world.target(subject, 'person')).toMatchObject({ result: null, confirmations: 1 });
    await world.advanceAfter(300, [subject]);
    expect(world.changes()).toEqual([]);
    expect(world.ledger.of('person')).toEqual(['result already_absent']);
    expect(world.target(subject, 'person').assurance).toBe('observed');
    expect(world.target(subject, 'events')).toMatchObject({ result: 'not_verifiable', assurance: 'not_verifiable' });
  });

  it('that is there again after one answer that it is not is deleted, and confirmed from the beginning', async () => {
    const { world, person, subject } = await openAsked({ profile });
    world.intercept((request, send) => {
      if (request.path.includes('distinct_id=')) return Promise.resolve(answer(200, '{"results":[]}'));
      return request.path.includes(`/persons/${ref(person)}/`) || request.path.includes(`/persons/${person.uuid}/`)
        ? Promise.resolve(answer(404))
        : send();
    });
    await world.advance([subject]);
    expect(world.target(subject, 'person')).toMatchObject({ result: null, attempts: 0, confirmations: 1 });
    world.heal();
    await world.advanceAfter(300, [subject]);
    expect(world.sandbox.store.persons.find(person.id)).toBeUndefined();
    expect(world.target(subject, 'person')).toMatchObject({ status: 'waiting', attempts: 1, confirmations: 1 });
    await world.advanceAfter(300, [subject]);
    expect(world.target(subject, 'person').result).toBe('deleted');
  });

  it('whose distinct id somebody else has now is for somebody to look at', async () => {
    const world = await openUpstreamWorld({ profile });
    const person = world.person(1);
    world.sandbox.act({ do: 'delete', uuid: person.uuid });
    world.sandbox.act({ do: 'create', distinct_ids: [person.distinct_ids[0] ?? ''] });
    const subject = world.request([person]);
    await world.advance([subject]);
    expect(world.changes()).toEqual([]);
    expect(world.target(subject, 'person')).toMatchObject({ status: 'attention', reason: 'distinct_id_elsewhere' });
    await world.advanceAfter(300, [subject]);
    expect(world.ledger.of('person')).toEqual(['attention distinct_id_elsewhere']);
  });

  it('whose distinct id somebody else has come by since its deletion is gone all the same', async () => {
    const { world, person, subject } = await openAsked({ profile, index: 1 });
    await world.advance([subject]);
    world.pass(100);
    world.sandbox.act({ do: 'create', distinct_ids: [person.distinct_ids[0] ?? '', 'grabbed-it'] });
    await world.advanceAfter(200, [subject]);
    expect(world.ledger.of('person')).toEqual(['intent', 'result deleted']);
    expect(world.changes()).toHaveLength(1);
  });

  it.each(['before its look-up', 'between look-up and deletion'])('that was split %s is not gone', async (when) => {
    const { world, person, subject } = await openAsked({ profile });
    const split = () => world.sandbox.act({ do: 'split', uuid: person.uuid });
    const isBefore = when.startsWith('before');
    if (isBefore) split();
    world.intercept((request, send) => {
      if (isDeletion(request)) split();
      return send();
    });
    await world.advance([subject]);
    world.heal();
    expect(world.target(subject, 'person')).toMatchObject({ status: 'attention', reason: 'distinct_id_elsewhere' });
    expect(world.changes()).toHaveLength(isBefore ? 0 : 1);
    const halves = world
      .people()
      .filter(
        ({ uuid, distinct_ids: ids }) =>
          uuid !== person.uuid && ids[0] !== undefined && person.distinct_ids.includes(ids[0]),
      );
    expect(halves).toHaveLength(person.distinct_ids.length - 1);
    for (const { uuid } of halves) world.sandbox.act({ do: 'delete', uuid });
    for (let round = 0; round < 2; round += 1) {
      await world.advanceAfter(300, [subject]);
    }
    expect(world.target(subject, 'person')).toMatchObject({ status: 'done', result: 'deleted', reason: null });
  });

  it('with thousands of distinct ids is gone after two hundred questions', async () => {
    const world = await openUpstreamWorld({ profile });
    const distinctIds = Array.from({ length: 5000 }, (_id, index) => `many-${index}`);
    const subject = requestOf(world, distinctIds);
    await world.advance([subject]);
    expect(world.target(subject, 'person')).toMatchObject({ status: 'waiting', confirmations: 1 });
    expect(world.asked.length).toBeLessThan(210);
  });

  it('of whose hundreds of distinct ids a split has given one to somebody else is not gone', async () => {
    const world = await openUpstreamWorld({ profile });
    const distinctIds = Array.from({ length: 250 }, (_id, index) => `many-${index}`);
    const subject = requestOf(world, distinctIds.slice(0, 1));
    world.sandbox.act({ do: 'create', distinct_ids: distinctIds.slice(-1) });
    await world.advance([knownBy(subject, distinctIds)]);
    expect(world.target(subject, 'person')).toMatchObject({ status: 'attention', reason: 'distinct_id_elsewhere' });
    expect(world.changes()).toEqual([]);
  });

  it('whose distinct id is too long for an address is deleted and confirmed without it', async () => {
    const { world, subject } = await openAsked({ profile, index: 1 });
    const long = knownBy(subject, ['x'.repeat(64_000)]);
    world.answerTo(({ path }) => path.length > 8_000, answer(profile === 'live' ? 431 : 414));
    await world.advanceTwice([long]);
    expect(world.target(subject, 'person')).toMatchObject({ status: 'done', result: 'deleted' });
  });

  it('whose distinct id is empty is not looked for by it: services show everybody then', async () => {
    const { world, subject } = await openAsked({ profile, index: 1 });
    const empty = knownBy(subject, ['']);
    await world.advanceTwice([empty]);
    expect(world.target(subject, 'person')).toMatchObject({ status: 'done', result: 'deleted' });
    expect(world.asked.filter((line) => line.includes('distinct_id='))).toEqual([]);
  });

  it('is not told to be gone by a list that shows whom it was not asked for', async () => {
    const world = await openUpstreamWorld({ profile });
    const [person, other] = [world.person(1), world.person(2)];
    const subject = world.request([person]);
    await world.advance([subject]);
    world.intercept((request, send) =>
      send().then(async (response) =>
        request.path.includes('distinct_id=')
          ? { ...response, bytes: Buffer.from(JSON.stringify({ next: null, previous: null, results: [other] })) }
          : response,
      ),
    );
    await world.advanceAfter(300, [subject]);
    expect(world.target(subject, 'person')).toMatchObject({ status: 'attention', reason: 'outcome_unknown' });
  });

  it('that was several before a merge is deleted whole', async () => {
    const world = await openUpstreamWorld({ profile });
    const [first, second] = [world.person(4), world.person(5)];
    const subject = world.request([first, second]);
    await world.advance([subject]);
    expect(world.changes()).toHaveLength(2);
    await world.advanceAfter(300, [subject]);
    expect(world.target(subject, 'person')).toMatchObject({ status: 'done', result: 'deleted' });
    expect(world.target(subject, 'events').status).toBe('waiting');
    expect(
      world.sandbox.store.events
        .deletions()
        .map(({ personUuid }) => personUuid)
        .toSorted(),
    ).toEqual([first.uuid, second.uuid].toSorted());
  });

  it('a merged one of which only the survivor lives is deleted without a doubt', async () => {
    const world = await openUpstreamWorld({ profile });
    const [loser, survivor] = [world.person(4), world.person(5)];
    world.sandbox.act({ do: 'merge', loser: loser.uuid, survivor: survivor.uuid });
    const subject = world.request([loser, survivor]);
    await world.advanceTwice([subject]);
    expect(world.changes()).toHaveLength(1);
    expect(world.target(subject, 'person').result).toBe('deleted');
    expect(world.ledger.of('events')).toEqual([]);
  });

  it('that comes back under its uuid is not deleted for ever', async () => {
    const { world, person, subject } = await openAsked({ profile, index: 2 });
    await world.advance([subject]);
    world.pass(300);
    world.sandbox.act({ do: 'resurrect', uuid: person.uuid });
    await world.advance([subject]);
    expect(world.changes()).toHaveLength(1);
    expect(world.target(subject, 'person')).toMatchObject({ status: 'attention', reason: 'recreated' });
    await world.advanceAfter(300, [subject]);
    expect(world.changes()).toHaveLength(1);
    expect(world.ledger.of('person')).toEqual(['intent', 'attention recreated']);
    expect(world.target(subject, 'person').seenAt).toBe('2025-06-04T12:10:00.000Z');
    world.sandbox.act({ do: 'delete', uuid: person.uuid });
    await world.advanceAfter(300, [subject]);
    expect(world.target(subject, 'person').seenAt).toBeNull();
  });
});

it('one that is newer than was known is no other life while the service still shows it', async () => {
  const world = await openUpstreamWorld();
  const person = world.person(0);
  const subject = { ...world.request([person]), createdAt: '2001-01-01T00:00:00Z' };
  world.answerTo(({ method }) => method === 'DELETE', answer(202));
  await world.advance([subject]);
  expect(world.target(subject, 'person')).toMatchObject({ status: 'waiting', sentCreatedAt: person.created_at });
});

it('another person under the id is for somebody to look at', async () => {
  const world = await openUpstreamWorld();
  const [person, other] = [world.person(0), world.person(1)];
  const subject = world.request([person]);
  await world.advance([{ ...subject, identity: { ...subject.identity, person_id: [String(other.id)] } }]);
  expect(world.changes()).toEqual([]);
  expect(world.target(subject, 'person')).toMatchObject({ status: 'attention', reason: 'outcome_unknown' });
});

it('people whose integer ids are not known are found by their distinct ids; one answer tells that uuids lead nowhere', async () => {
  const world = await openUpstreamWorld();
  const people = [world.person(0), world.person(1)];
  const subjects = people.map((person) => {
    const subject = world.request([person]);
    return { ...subject, identity: { ...subject.identity, person_id: [] } };
  });
  world.settings.budget.concurrency = 1;
  await world.advance(subjects);
  expect(world.changes()).toEqual(people.map(({ id }) => `DELETE /persons/${id}/?delete_events=true`));
  expect(world.asked.filter((line) => line.includes(people[0]?.uuid ?? '-'))).toHaveLength(1);
  expect(world.asked.filter((line) => line.includes(people[1]?.uuid ?? '-'))).toEqual([]);
  await world.advanceAfter(300, subjects);
  for (const subject of subjects) expect(world.target(subject, 'person').result).toBe('deleted');
});

it('somebody whom neither id nor uuid can be asked for is not taken for absent', async () => {
  const world = await openUpstreamWorld();
  const person = world.person(0);
  world.sandbox.act({ do: 'delete', uuid: person.uuid });
  const subject = world.request([person]);
  await world.advance([{ ...subject, identity: { ...subject.identity, person_id: [] } }]);
  expect(world.target(subject, 'person')).toMatchObject({ status: 'attention', reason: 'outcome_unknown' });
});

it('a deletion that the service takes and does not make is sent again, after a pause, so often and no more', async () => {
  const { world, person, subject } = await openAsked();
  world.answerTo(({ method }) => method === 'DELETE', answer(202));
  await world.advanceTimes(8, 300, [subject]);
  expect(world.changes()).toHaveLength(world.settings.retry.attemptsMax);
  expect(world.target(subject, 'person')).toMatchObject({ status: 'attention', reason: 'outcome_unknown' });
  world.heal();
  world.sandbox.act({ do: 'delete', uuid: person.uuid });
  await world.advanceTwice([subject]);
  expect(world.target(subject, 'person')).toMatchObject({ status: 'done', result: 'deleted', reason: null });
});

it('an answer without a Date counts by the own clock', async () => {
  const { world, subject } = await openAsked();
  world.intercept(async (_request, send) => ({ ...(await send()), date: undefined }));
  const report = await world.advance([subject]);
  expect(report.awaiting).toEqual([{ requestId: subject.id, eventsExpectedBy: expectedBy }]);
});

it("counts by the service's clock, not by the own", async () => {
  const world = await openUpstreamWorld();
  // Past the next batch.
  world.sandbox.clock.moveTo(Date.parse('2025-06-08T05:00:00Z'));
  const subject = world.request([world.person(0)]);
  const report = await world.advance([subject]);
  expect(report.awaiting).toEqual([{ requestId: subject.id, eventsExpectedBy: '2025-06-16T05:00:00.000Z' }]);
});
