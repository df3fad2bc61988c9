import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/core/errors.ts';
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

const reset = new AppError('no answer', { code: 'unreachable', retryable: true });

const notRemoved =
  '{"type":"server_error","code":"person_deletion_failed","detail":"Failed at delete_postgres.","attr":null}';

/** Strikes the first so many deletions. */
function onDelete(times: number, strike: Interceptor): Interceptor {
  let left = times;
  return (request, send) => {
    if (!isDeletion(request) || left === 0) return send();
    left -= 1;
    return strike(request, send);
  };
}
const before = (what: () => ReturnType<Interceptor>): Interceptor => what;
const after =
  (what: () => ReturnType<Interceptor>): Interceptor =>
  async (_request, send) => {
    await send();
    return what();
  };

describe('a deletion that was not made, and not answered so', () => {
  it.each([
    ['a reset', () => Promise.reject(reset)],
    ['a 500', () => Promise.resolve(answer(500))],
    ['a 504', () => Promise.resolve(answer(504))],
    ['a 503 that says that nothing was removed', () => Promise.resolve(answer(503, notRemoved))],
    ['a login page', () => Promise.resolve(answer(200, '<html>', 'text/html'))],
  ] as const)('is sent again after %s, and nothing is in doubt', async (_what, strike) => {
    const { world, person, subject } = await openAsked();
    world.intercept(onDelete(1, before(strike)));
    const report = await world.advance([subject]);
    expect(world.changes()).toHaveLength(2);
    expect(world.asked.filter((line) => line === `GET /persons/${person.id}/`)).toHaveLength(3);
    expect(world.ledger.of('person')).toEqual(['intent', 'intent']);
    expect(report.awaiting).toEqual([{ requestId: subject.id, eventsExpectedBy: expectedBy }]);
    expect(world.target(subject, 'person')).toMatchObject({ status: 'waiting', confirmations: 1, attempts: 2 });
  });

  it('is for somebody to look at after so many', async () => {
    const { world, subject } = await openAsked();
    world.intercept(
      onDelete(
        99,
        before(() => Promise.resolve(answer(500))),
      ),
    );
    await world.advance([subject]);
    expect(world.changes()).toHaveLength(world.settings.retry.attemptsMax);
    expect(world.target(subject, 'person')).toMatchObject({ status: 'attention', reason: 'outcome_unknown' });
    await world.advanceAfter(300, [subject]);
    expect(world.changes()).toHaveLength(world.settings.retry.attemptsMax);
  });
});

describe('a deletion that was made, and not answered', () => {
  it.each([
    ['a reset', () => Promise.reject(reset)],
    ['a 502', () => Promise.resolve(answer(502))],
    ['the 404 of a second sending', () => Promise.resolve(answer(404))],
  ] as const)('leaves the events unconfirmed after %s where nothing tells of the queue', async (_what, strike) => {
    const { world, subject } = await openAsked();
    world.intercept(onDelete(1, after(strike)));
    const report = await world.advance([subject]);
    expect(world.changes()).toHaveLength(1);
    expect(world.target(subject, 'events')).toMatchObject({ status: 'attention', reason: 'events_unconfirmed' });
    expect(report.awaiting).toEqual([]);
    await world.advanceAfter(300, [subject]);
    expect(world.target(subject, 'person').result).toBe('deleted');
    expect(world.target(subject, 'events').status).toBe('attention');
    expect(world.ledger.of('events')).toEqual(['attention events_unconfirmed']);
  });

  const noneFound = '{"persons_found":0,"persons_deleted":0,"ids_not_found":["ID"]}';
  it.each([
    ['a reset', () => Promise.reject(reset)],
    [
      'a second answer that finds nobody',
      (uuid: string) => Promise.resolve(answer(202, noneFound.replace('ID', uuid))),
    ],
  ] as const)("is settled by the service's own queue where it tells of it: %s", async (_what, strike) => {
    const { world, person, subject } = await openAsked({ profile: 'live' });
    world.intercept(
      onDelete(
        1,
        after(() => strike(person.uuid)),
      ),
    );
    const report = await world.advance([subject]);
    expect(world.changes()).toHaveLength(1);
    expect(world.ledger.of('events')).toEqual([]);
    expect(report.awaiting).toEqual([{ requestId: subject.id, eventsExpectedBy: expectedBy }]);
  });

  it('is in no doubt where another request has deleted the person in the same moment', async () => {
    const world = await openUpstreamWorld();
    const subjects = [world.request([world.person(0)]), world.request([world.person(0)])];
    await world.advanceTwice(subjects);
    expect(world.changes()).toHaveLength(2);
    const results = subjects.map((subject) => world.target(subject, 'person').result);
    expect(new Set(results)).toEqual(new Set(['already_absent', 'deleted']));
    expect(world.ledger.of('events')).not.toContain('attention events_unconfirmed');
  });

  it.each([1, 4])('is in no doubt where a list has shown the person %i times since the answer', async (times) => {
    const { world, person, subject } = await openAsked();
    const row = await fetchRow(world, person.id);
    let left = times;
    world.intercept((request, send) => {
      if (!request.path.includes('distinct_id=') || left === 0) return send();
      left -= 1;
      return Promise.resolve(answer(200, `{"next":null,"results":[${row}]}`));
    });
    await world.advance([subject]);
    for (let run = 0; run < 8; run += 1) await world.advanceAfter(300, [subject]);
    expect(world.changes().length).toBeGreaterThan(times === 1 ? 0 : 1);
    expect(world.target(subject, 'person').result).toBe('deleted');
    expect(world.ledger.of('events')).toEqual([]);
  });

  it('leaves them unconfirmed where the queue knows nothing of it, of this life', async () => {
    const world = await openUpstreamWorld({ profile: 'live' });
    const gone = world.person(0);
    // An earlier life's deletion, long done.
    world.sandbox.act({ do: 'delete', uuid: gone.uuid, delete_events: true });
    world.moveTo(expectedBy);
    world.sandbox.act({ do: 'resurrect', uuid: gone.uuid });
    const person = [...world.sandbox.living()].find(({ uuid }) => uuid === gone.uuid);
    if (!person) throw new Error('nobody came back');
    const subject = world.request([person]);
    world.intercept(
      onDelete(1, () => {
        world.sandbox.act({ do: 'delete', uuid: person.uuid });
        return Promise.reject(reset);
      }),
    );
    await world.advance([subject]);
    expect(world.target(subject, 'events')).toMatchObject({ status: 'attention', reason: 'events_unconfirmed' });
  });

  it('is of no concern where the events are kept', async () => {
    const { world, subject } = await openAsked({ fields: { deleteEvents: false } });
    world.intercept(
      onDelete(
        1,
        after(() => Promise.reject(reset)),
      ),
    );
    await world.advanceTwice([subject]);
    expect(world.target(subject, 'person').result).toBe('deleted');
    expect(world.target(subject, 'events').result).toBe('kept');
  });

  it('is one, too, when the service itself acts and lets the answer time out', async () => {
    const { world, subject } = await openAsked({ faults: 'timeout-after-act', faultShare: 1, faultHoldMs: 2000 });
    await world.advance([subject]);
    expect(world.changes()).toHaveLength(1);
    expect(world.target(subject, 'events')).toMatchObject({ status: 'attention', reason: 'events_unconfirmed' });
    expect(world.target(subject, 'person')).toMatchObject({ status: 'waiting', confirmations: 1 });
  });
});

/** The row of a person, as the service sends it. */
async function fetchRow({ sandbox }: UpstreamWorld, id: number): Promise<string> {
  const headers = { authorization: `Bearer ${sandbox.apiKey}` };
  const answered = await fetch(`${sandbox.url}/api/environments/${sandbox.projectId}/persons/${id}/`, { headers });
  return await answered.text();
}

describe('killed', () => {
  const killed = (): Promise<never> => Promise.reject(new Killed());

  it('before the intent could be written: nothing was sent, and all goes on', async () => {
    const { world, subject } = await openAsked();
    world.ledger.refuse(({ type }) => type === 'intent');
    await expect(world.advance([subject])).rejects.toThrow(Killed);
    expect(world.changes()).toEqual([]);
    world.ledger.refuse(() => false);
    world.restart();
    await world.advance([subject]);
    expect(world.changes()).toHaveLength(1);
    expect(world.target(subject, 'events').status).toBe('waiting');
  });

  it('between intent and call: the person is still there, so it is sent', async () => {
    const { world, subject } = await openAsked();
    world.intercept(onDelete(1, before(killed)));
    await expect(world.advance([subject])).rejects.toThrow(Killed);
    expect(world.target(subject, 'person').status).toBe('intended');
    world.restart();
    await world.advance([subject]);
    expect(world.ledger.of('person')).toEqual(['intent', 'intent']);
    expect(world.target(subject, 'events').status).toBe('waiting');
    expect(world.sandbox.store.events.deletions()).toHaveLength(1);
  });

  it.each([
    ['documented', 'attention'],
    ['live', 'waiting'],
  ] as const)('between call and result at a %s service: looked into, never sent again', async (profile, events) => {
    const { world, subject } = await openAsked({ profile });
    world.intercept(onDelete(1, after(killed)));
    await expect(world.advance([subject])).rejects.toThrow(Killed);
    world.restart();
    await world.advanceTwice([subject]);
    expect(world.changes()).toHaveLength(1);
    expect(world.target(subject, 'person').result).toBe('deleted');
    expect(world.target(subject, 'events').status).toBe(events);
  });

  it('before the result could be written: confirmed once more', async () => {
    const { world, subject } = await openAsked();
    await world.advance([subject]);
    world.pass(300);
    world.ledger.refuse(({ type }) => type === 'result');
    await expect(world.advance([subject])).rejects.toThrow(Killed);
    expect(world.target(subject, 'person').status).toBe('waiting');
    world.ledger.refuse(() => false);
    world.restart();
    await world.advance([subject]);
    expect(world.changes()).toHaveLength(1);
    expect(world.ledger.of('person')).toEqual(['intent', 'result deleted']);
  });

  it('between two of one subject: nobody knows which it was, so its events are in doubt', async () => {
    const world = await openUpstreamWorld();
    const subject = world.request([world.person(0), world.person(1)]);
    let deletes = 0;
    world.intercept(async (request, send) => {
      if (request.method === 'DELETE') deletes += 1;
      return deletes === 2 ? killed() : send();
    });
    await expect(world.advance([subject])).rejects.toThrow(Killed);
    world.heal();
    world.restart();
    await world.advanceTwice([subject]);
    expect(world.changes()).toHaveLength(3);
    expect(world.target(subject, 'person').result).toBe('deleted');
    expect(world.target(subject, 'events')).toMatchObject({ status: 'attention', reason: 'events_unconfirmed' });
  });
});
