import { expect, it } from 'vitest';
import { endWait } from '../../../src/erasure/upstream/earlier-deletions.ts';
import type { LivingPerson } from '../../../src/sandbox/store/truth.ts';
import { Killed } from '../../kill/kill-switch.ts';
import {
  answer,
  expectedBy,
  isDeletion,
  openAsked,
  openUpstreamWorld,
  type Interceptor,
  type UpstreamWorld,
} from './upstream-world.ts';

type Subject = ReturnType<UpstreamWorld['request']>;

const batch = '2025-06-08T05:00:00.000Z';
const secondBatchHadItsDay = '2025-06-16T05:00:00.000Z';
const hour = 3600;
const day = 24 * hour;

const openWorld = (options: Parameters<typeof openUpstreamWorld>[0] = {}): Promise<UpstreamWorld> =>
  openUpstreamWorld({ profile: 'live', ...options });

/** Somebody else queues the deletion of a person's events, and keeps the person. */
const queueElsewhere = ({ sandbox }: UpstreamWorld, { uuid }: LivingPerson): void => {
  sandbox.act({ do: 'delete_events', uuid });
};
const rowsOf = ({ sandbox }: UpstreamWorld, { uuid }: LivingPerson): (number | null)[] =>
  sandbox.store.events.deletions().flatMap((row) => (row.personUuid === uuid ? [row.requestedAtMs] : []));
const isThere = ({ sandbox }: UpstreamWorld, { uuid }: LivingPerson): boolean =>
  sandbox.store.lifecycle.idOf(uuid) !== undefined;
/** A request for a person of whom an earlier deletion of the events has waited for an hour. */
async function openWaiting(): Promise<{ world: UpstreamWorld; person: LivingPerson; subject: Subject }> {
  const world = await openWorld();
  const person = world.person(0);
  queueElsewhere(world, person);
  world.pass(hour);
  return { world, person, subject: world.request([person]) };
}
it('a person waits while an earlier deletion of the events waits, and then gets one of its own', async () => {
  const { world, person, subject } = await openWaiting();
  const report = await world.advance([subject]);
  expect(world.changes()).toEqual([]);
  expect(world.ledger.of('person')).toEqual([]);
  expect(world.ledger.of('events')).toEqual(['attention events_queued_before']);
  expect(report.awaiting).toEqual([{ requestId: subject.id, eventsExpectedBy: expectedBy }]);
  await world.advanceAfter(6 * hour, [subject]);
  expect(world.ledger.of('events')).toEqual(['attention events_queued_before']);
  expect(isThere(world, person)).toBe(true);
  world.moveTo(batch);
  await world.advanceTwice([subject]);
  expect(isThere(world, person)).toBe(false);
  expect(rowsOf(world, person)).toHaveLength(2);
  expect(world.target(subject, 'events')).toMatchObject({
    status: 'waiting',
    reason: null,
    notBefore: '2025-06-16T05:00:00.000Z',
  });
  await world.advanceAt('2025-06-16T05:00:00.000Z', [subject]);
  expect(world.target(subject, 'events')).toMatchObject({ result: 'confirmed', assurance: 'asserted_by_upstream' });
});

it('a person waits no longer than until the second batch has had its day; the events are deleted in part', async () => {
  const world = await openWorld();
  const person = world.person(0);
  queueElsewhere(world, person);
  const [queuedAtMs = null] = rowsOf(world, person);
  world.sandbox.act({ do: 'set_batch', runs: false });
  world.pass(day);
  const subject = world.request([person]);
  await world.advance([subject]);
  await world.advanceAt('2025-06-16T04:59:59.999Z', [subject]);
  expect(isThere(world, person)).toBe(true);
  world.pass(6 * hour);
  await world.advanceTwice([subject]);
  expect(isThere(world, person)).toBe(false);
  expect(world.target(subject, 'events')).toMatchObject({ status: 'attention', reason: 'events_queued_before' });
  world.sandbox.act({ do: 'set_batch', runs: true });
  world.moveTo('2025-06-23T05:00:00.000Z');
  // The sandbox dates a batch that it runs late back to its own Sunday.
  world.intercept(async (_request, send) => {
    const { bytes, ...response } = await send();
    const late = bytes
      .toString()
      .replaceAll(`"delete_verified_at":"${batch}"`, '"delete_verified_at":"2025-06-22T05:10:00Z"');
    return { ...response, bytes: Buffer.from(late) };
  });
  await world.advance([subject]);
  expect(world.target(subject, 'events')).toMatchObject({
    result: 'partly_deleted',
    assurance: 'asserted_by_upstream',
  });
  expect(world.ledger.records.at(-1)).toMatchObject({ until: new Date(queuedAtMs ?? 0).toISOString() });
});

it('a person waits no longer than the request has time', async () => {
  const world = await openWorld();
  const person = world.person(0);
  world.sandbox.act({ do: 'set_batch', runs: false });
  queueElsewhere(world, person);
  world.pass(hour);
  const subject = world.request([person], { dueAt: '2025-06-11T00:00:00.000Z' });
  await world.advance([subject]);
  await world.advanceAt('2025-06-09T23:59:59.000Z', [subject]);
  expect(isThere(world, person)).toBe(true);
  await world.advanceAt('2025-06-10T00:00:00.000Z', [subject]);
  expect(isThere(world, person)).toBe(false);
});

it('a person does not wait once an operator has said so, also if the deletion has to be sent again', async () => {
  const { world, person, subject } = await openWaiting();
  await world.advance([subject]);
  endWait(world, subject);
  let refusals = 1;
  world.intercept(async (request, send) =>
    isDeletion(request) && refusals-- > 0 ? { ...answer(429), retryAfter: '1' } : send(),
  );
  await world.advance([subject]);
  expect(world.changes()).toHaveLength(2);
  expect(isThere(world, person)).toBe(false);
  expect(world.target(subject, 'events')).toMatchObject({ status: 'waiting', notBefore: expectedBy });
  await world.advanceAt(expectedBy, [subject]);
  expect(world.target(subject, 'events').result).toBe('partly_deleted');
});

it('a finished earlier row is told; where the service queues no other one, that is told, and how it ends', async () => {
  const world = await openWorld({ live: { deletionRows: 'one_ever' } });
  const person = world.person(0);
  queueElsewhere(world, person);
  world.moveTo('2025-06-25T12:00:00.000Z');
  const subject = world.request([person]);
  await world.advance([subject]);
  expect(isThere(world, person)).toBe(false);
  expect(world.target(subject, 'events')).toMatchObject({ status: 'attention', reason: 'events_queued_before' });
  await world.advanceAfter(300, [subject]);
  expect(world.target(subject, 'events')).toMatchObject({ status: 'attention', reason: 'events_not_queued' });
  await world.advanceAt('2025-06-30T04:59:59.999Z', [subject]);
  expect(world.target(subject, 'events').status).toBe('attention');
  await world.advanceAt('2025-06-30T06:00:00.000Z', [subject]);
  expect(world.target(subject, 'events')).toMatchObject({ result: 'not_queued', assurance: 'not_verifiable' });
  expect(world.ledger.of('events')).toEqual([
    'attention events_queued_before',
    'attention events_not_queued',
    'result not_queued',
  ]);
});

it.each([-hour * 1000, 0, hour * 1000])(
  'a clock here that is %d ms ahead changes nothing of whose a row is',
  async (aheadMs) => {
    const world = await openWorld({ aheadMs });
    const [own, earlier] = [world.person(0), world.person(1)];
    queueElsewhere(world, earlier);
    // So that a row half an hour old is newer than the request by one of the clocks, and older by the other.
    world.pass(hour / 2);
    const subjects = [world.request([own]), world.request([earlier])] as const;
    await world.advance(subjects);
    expect([isThere(world, own), isThere(world, earlier)]).toEqual([false, true]);
    endWait(world, subjects[1]);
    await world.advance(subjects);
    await world.advanceAt('2025-06-09T07:00:00.000Z', subjects);
    expect(subjects.map((subject) => world.target(subject, 'events').result)).toEqual(['confirmed', 'partly_deleted']);
  },
);

/** A kill after the service has taken a deletion, before anything is noted. */
function killAfterDelete(world: UpstreamWorld): void {
  world.intercept(async (request, send) => {
    const response = await send();
    if (isDeletion(request)) throw new Killed();
    return response;
  });
}

it('a kill between the deletion and its note leaves the row that it made its own', async () => {
  const { world, subject } = await openAsked({ profile: 'live' });
  killAfterDelete(world);
  await expect(world.advance([subject])).rejects.toThrow(Killed);
  world.heal();
  world.restart();
  await world.advanceAfter(day, [subject]);
  expect(world.target(subject, 'events')).toMatchObject({ status: 'waiting', reason: null, notBefore: expectedBy });
  await world.advanceAt(expectedBy, [subject]);
  expect(world.target(subject, 'events').result).toBe('confirmed');
});

it("a kill between the deletion and its note does not make somebody else's row its own", async () => {
  const { world, subject } = await openWaiting();
  await world.advance([subject]);
  endWait(world, subject);
  killAfterDelete(world);
  await expect(world.advance([subject])).rejects.toThrow(Killed);
  world.heal();
  world.restart();
  world.moveTo(secondBatchHadItsDay);
  await world.advanceTwice([subject]);
  expect(world.target(subject, 'events')).toMatchObject({ status: 'attention', reason: 'events_unconfirmed' });
});

it('two requests for one person, sent in one call, have one row for both', async () => {
  const world = await openWorld();
  const person = world.person(0);
  const subjects = [world.request([person]), world.request([person])];
  await world.advance(subjects);
  expect(rowsOf(world, person)).toHaveLength(1);
  await world.advanceAt(expectedBy, subjects);
  for (const subject of subjects) expect(world.target(subject, 'events').result).toBe('confirmed');
});

it('two requests for one person, sent in one call with another, leave no doubt where nothing tells of the queue', async () => {
  const world = await openWorld();
  world.answerTo(({ path }) => path.includes('deletion_status'), answer(404));
  const [person, other] = [world.person(0), world.person(1)];
  const subjects = [world.request([person]), world.request([person]), world.request([other])];
  await world.advanceTwice(subjects);
  for (const subject of subjects) {
    expect(world.target(subject, 'person').result).toBe('deleted');
    expect(world.target(subject, 'events')).toMatchObject({ status: 'waiting', reason: null, notBefore: expectedBy });
  }
});

it('of a person whom the service does not delete, it is not said that no deletion of the events can follow', async () => {
  const world = await openWorld({ live: { deletionRows: 'one_ever' } });
  const person = world.person(0);
  queueElsewhere(world, person);
  world.moveTo('2025-06-25T12:00:00.000Z');
  const subject = world.request([person], { dueAt: '2025-09-04T12:00:00.000Z' });
  const queued = '{"persons_found":1,"persons_deleted":0,"persons_queued_for_deletion":1}';
  world.answerTo(isDeletion, answer(202, queued));
  await world.advanceTimes(20, day, [subject]);
  expect(isThere(world, person)).toBe(true);
  expect(world.target(subject, 'person')).toMatchObject({ status: 'attention', reason: 'outcome_unknown' });
  expect(world.target(subject, 'events').result).toBeNull();
  expect(world.ledger.of('events')).not.toContain('attention events_not_queued');
});

it('a person who is shown only after the others were sent, and has an earlier row, is not covered by their rows', async () => {
  const world = await openWorld();
  const people = [world.person(0), world.person(1), world.person(2)] as const;
  queueElsewhere(world, people[0]);
  world.pass(hour);
  const subject = world.request(people);
  world.intercept((request, send) => {
    if (request.method !== 'GET') return send();
    if (request.path.includes('distinct_id=')) return Promise.resolve(answer(200, '{"next":null,"results":[]}'));
    return request.path.includes(`persons/${people[0].uuid}`) ? Promise.resolve(answer(404)) : send();
  });
  await world.advance([subject]);
  world.heal();
  world.pass(hour);
  await world.advanceTwice([subject]);
  expect(people.filter((person) => isThere(world, person))).toEqual([]);
  expect(rowsOf(world, people[0])).toHaveLength(1);
  await world.advanceAt(expectedBy, [subject]);
  expect(world.target(subject, 'events')).toMatchObject({ result: 'partly_deleted' });
});

it('a key that may not see the queue deletes all the same, and nothing is verifiable of the events', async () => {
  const { world, subject } = await openAsked({ profile: 'live' });
  world.answerTo(({ path }) => path.includes('deletion_status'), answer(403, '{}'));
  await world.advanceTwice([subject]);
  expect(world.target(subject, 'person').result).toBe('deleted');
  await world.advanceAt(expectedBy, [subject]);
  expect(world.target(subject, 'events').result).toBe('not_verifiable');
});

it('five requests at each of which two steps fail hold up no other one', async () => {
  const world = await openWorld();
  const people = world.people().slice(0, 6);
  const failing = people.slice(1).map(({ uuid }) => uuid);
  const [good, ...bad] = people.map((person, index) =>
    world.request([person], {
      memberships: index === 0 ? [] : [{ shortId: world.sandbox.playlists[0] ?? '', recordingId: 'any' }],
    }),
  );
  world.answerTo(
    (request) =>
      request.path.includes('_playlists/') ||
      failing.some((uuid) => request.path.includes(`deletion_status/?person_uuid=${uuid}`)),
    answer(500, '{}'),
  );
  if (!good) throw new Error('nobody');
  const { failed } = await world.advance([...bad, good]);
  expect(failed).toHaveLength(10);
  expect(world.target(good, 'recordings').status).toBe('done');
});

it('a second request for a person whom the first has deleted claims nothing of its row', async () => {
  const world = await openWorld();
  const person = world.person(0);
  const first = world.request([person]);
  await world.advanceTwice([first]);
  const second = world.request([person]);
  await world.advanceTwice([second]);
  expect(world.target(second, 'person').result).toBe('already_absent');
  expect(world.target(second, 'events').result).toBe('not_verifiable');
});

/** Another client queues a deletion when ours is about to be sent. After a long time ours takes another turn. */
function queueBetween(world: UpstreamWorld, person: LivingPerson, waitSeconds: number): Interceptor {
  let isQueued = false;
  return (request, send) => {
    if (isDeletion(request) && !isQueued) {
      isQueued = true;
      queueElsewhere(world, person);
      world.pass(waitSeconds);
    }
    return send();
  };
}

it.each([
  [1, 'confirmed'],
  [hour, 'partly_deleted'],
])('a row that another client makes %d s before ours is sent, after we looked: %s', async (waitSeconds, result) => {
  const { world, person, subject } = await openAsked({ profile: 'live' });
  world.intercept(queueBetween(world, person, waitSeconds));
  await world.advance([subject]);
  expect(rowsOf(world, person)).toHaveLength(1);
  await world.advanceAt(expectedBy, [subject]);
  expect(world.target(subject, 'events').result).toBe(result);
});

it('of many requests, only those wait whose events have an earlier deletion', async () => {
  const world = await openWorld();
  const people = Array.from({ length: 20 }, (_, index) => world.person(index));
  const waiting = people.slice(0, 3);
  for (const person of waiting) queueElsewhere(world, person);
  world.pass(hour);
  const subjects = people.map((person) => world.request([person]));
  await world.advanceTwice(subjects);
  expect(people.filter((person) => isThere(world, person))).toEqual(waiting);
  world.moveTo(batch);
  await world.advanceTwice(subjects);
  await world.advanceAt('2025-06-16T05:00:00.000Z', subjects);
  expect(subjects.map((subject) => world.target(subject, 'events').result)).toEqual(people.map(() => 'confirmed'));
});

it('a service that does not say what it has queued keeps its persons, until the request has no more time', async () => {
  const { world, person, subject } = await openAsked({
    profile: 'live',
    fields: { dueAt: '2025-06-07T12:00:00.000Z' },
  });
  world.intercept(async (request, send) =>
    request.path.includes(person.uuid) && request.path.includes('deletion_status') ? answer(200, '{}') : send(),
  );
  const { failed } = await world.advance([subject]);
  expect(failed).toMatchObject([{ requestId: subject.id, error: { code: 'service' } }]);
  expect(isThere(world, person)).toBe(true);
  world.moveTo('2025-06-06T12:00:00.000Z');
  await world.advanceTwice([subject]);
  expect(isThere(world, person)).toBe(false);
  world.heal();
  await world.advanceAt(expectedBy, [subject]);
  expect(world.target(subject, 'events').result).toBe('not_verifiable');
});

it('requests that keep the events, and services that show no queue, ask nothing and wait for nothing', async () => {
  const live = await openWorld();
  const person = live.person(0);
  queueElsewhere(live, person);
  const subject = live.request([person], { deleteEvents: false });
  await live.advance([subject]);
  expect(isThere(live, person)).toBe(false);
  expect(live.asked.some((line) => line.includes(`deletion_status/?person_uuid=${person.uuid}`))).toBe(false);
  const plain = await openUpstreamWorld();
  queueElsewhere(plain, plain.person(0));
  const other = plain.request([plain.person(0)]);
  await plain.advance([other]);
  expect(plain.changes()).toHaveLength(1);
  expect(plain.target(other, 'events')).toMatchObject({ status: 'waiting', notBefore: expectedBy });
});
