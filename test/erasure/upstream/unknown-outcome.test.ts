import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/core/errors.ts';
import { answer, expectedBy, Killed, rig, type Interceptor } from './rig.ts';

const reset = new AppError('no answer', { code: 'unreachable', retryable: true });

/** Strikes the first so many DELETEs. */
function onDelete(times: number, strike: Interceptor): Interceptor {
  let left = times;
  return (request, send) => {
    if (request.method !== 'DELETE' || left === 0) return send();
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
    ['a login page', () => Promise.resolve(answer(200, '<html>', 'text/html'))],
  ] as const)('is sent again after %s, and nothing is in doubt', async (_what, strike) => {
    const here = await rig();
    const person = here.person(0);
    const subject = here.request([person]);
    here.intercept(onDelete(1, before(strike)));
    const report = await here.advance([subject]);
    expect(here.changes()).toHaveLength(2);
    expect(here.asked.filter((line) => line === `GET /persons/${person.id}/`)).toHaveLength(3);
    expect(here.ledger.of('person')).toEqual(['intent', 'intent']);
    expect(report.awaiting).toEqual([{ requestId: subject.id, eventsExpectedBy: expectedBy }]);
    expect(here.target(subject, 'person')).toMatchObject({
      status: 'waiting',
      confirmations: 1,
      attempts: 2,
    });
  });

  it('is for somebody to look at after so many', async () => {
    const here = await rig();
    const subject = here.request([here.person(0)]);
    here.intercept(
      onDelete(
        99,
        before(() => Promise.resolve(answer(500))),
      ),
    );
    await here.advance([subject]);
    expect(here.changes()).toHaveLength(here.settings.retry.attemptsMax);
    expect(here.target(subject, 'person')).toMatchObject({ status: 'attention', reason: 'outcome_unknown' });
    here.pass(300);
    await here.advance([subject]);
    expect(here.changes()).toHaveLength(here.settings.retry.attemptsMax);
  });
});

describe('a deletion that was made, and not answered', () => {
  it.each([
    ['a reset', () => Promise.reject(reset)],
    ['a 502', () => Promise.resolve(answer(502))],
  ] as const)(
    'leaves the events unconfirmed after %s where nothing tells of the queue',
    async (_what, strike) => {
      const here = await rig();
      const subject = here.request([here.person(0)]);
      here.intercept(onDelete(1, after(strike)));
      const report = await here.advance([subject]);
      expect(here.changes()).toHaveLength(1);
      expect(here.target(subject, 'events')).toMatchObject({
        status: 'attention',
        reason: 'events_unconfirmed',
      });
      expect(report.awaiting).toEqual([]);
      here.pass(300);
      await here.advance([subject]);
      expect(here.target(subject, 'person').result).toBe('deleted');
      expect(here.target(subject, 'events').status).toBe('attention');
      expect(here.ledger.of('events')).toEqual(['attention events_unconfirmed']);
    },
  );

  it("is settled by the service's own queue where it tells of it", async () => {
    const here = await rig({ profile: 'live' });
    const subject = here.request([here.person(0)]);
    here.intercept(
      onDelete(
        1,
        after(() => Promise.reject(reset)),
      ),
    );
    const report = await here.advance([subject]);
    expect(here.changes()).toHaveLength(1);
    expect(here.ledger.of('events')).toEqual([]);
    expect(report.awaiting).toEqual([{ requestId: subject.id, eventsExpectedBy: expectedBy }]);
  });

  it('leaves them unconfirmed where the queue knows nothing of it, of this life', async () => {
    const here = await rig({ profile: 'live' });
    const gone = here.person(0);
    // An earlier life's deletion, long queued.
    here.sandbox.act({ do: 'delete', uuid: gone.uuid, delete_events: true });
    here.pass(60);
    here.sandbox.act({ do: 'resurrect', uuid: gone.uuid });
    const person = [...here.sandbox.living()].find(({ uuid }) => uuid === gone.uuid);
    if (!person) throw new Error('nobody came back');
    const subject = here.request([person]);
    here.intercept(
      onDelete(1, () => {
        here.sandbox.act({ do: 'delete', uuid: person.uuid });
        return Promise.reject(reset);
      }),
    );
    await here.advance([subject]);
    expect(here.target(subject, 'events')).toMatchObject({
      status: 'attention',
      reason: 'events_unconfirmed',
    });
  });

  it('is of no concern where the events are kept', async () => {
    const here = await rig();
    const subject = here.request([here.person(0)], { deleteEvents: false });
    here.intercept(
      onDelete(
        1,
        after(() => Promise.reject(reset)),
      ),
    );
    await here.advance([subject]);
    here.pass(300);
    await here.advance([subject]);
    expect(here.target(subject, 'person').result).toBe('deleted');
    expect(here.target(subject, 'events').result).toBe('kept');
  });

  it('is one, too, when the service itself acts and lets the answer time out', async () => {
    const here = await rig({ faults: 'timeout-after-act', faultShare: 1, faultHoldMs: 2000 });
    const subject = here.request([here.person(0)]);
    await here.advance([subject]);
    expect(here.changes()).toHaveLength(1);
    expect(here.target(subject, 'events')).toMatchObject({
      status: 'attention',
      reason: 'events_unconfirmed',
    });
    expect(here.target(subject, 'person')).toMatchObject({ status: 'waiting', confirmations: 1 });
  });
});

describe('killed', () => {
  const killed = (): Promise<never> => Promise.reject(new Killed());

  it('before the intent could be written: nothing was sent, and all goes on', async () => {
    const here = await rig();
    const subject = here.request([here.person(0)]);
    here.ledger.refuse(({ type }) => type === 'intent');
    await expect(here.advance([subject])).rejects.toThrow(Killed);
    expect(here.changes()).toEqual([]);
    here.ledger.refuse(() => false);
    here.restart();
    await here.advance([subject]);
    expect(here.changes()).toHaveLength(1);
    expect(here.target(subject, 'events').status).toBe('waiting');
  });

  it('between intent and call: the person is still there, so it is sent', async () => {
    const here = await rig();
    const subject = here.request([here.person(0)]);
    here.intercept(onDelete(1, before(killed)));
    await expect(here.advance([subject])).rejects.toThrow(Killed);
    expect(here.target(subject, 'person').status).toBe('intended');
    here.restart();
    await here.advance([subject]);
    expect(here.ledger.of('person')).toEqual(['intent', 'intent']);
    expect(here.target(subject, 'events').status).toBe('waiting');
    expect(here.sandbox.store.events.deletions()).toHaveLength(1);
  });

  it.each([
    ['documented', 'attention'],
    ['live', 'waiting'],
  ] as const)(
    'between call and result at a %s service: looked into, never sent again',
    async (profile, events) => {
      const here = await rig({ profile });
      const subject = here.request([here.person(0)]);
      here.intercept(onDelete(1, after(killed)));
      await expect(here.advance([subject])).rejects.toThrow(Killed);
      here.restart();
      await here.advance([subject]);
      here.pass(300);
      await here.advance([subject]);
      expect(here.changes()).toHaveLength(1);
      expect(here.target(subject, 'person').result).toBe('deleted');
      expect(here.target(subject, 'events').status).toBe(events);
    },
  );

  it('before the result could be written: confirmed once more', async () => {
    const here = await rig();
    const subject = here.request([here.person(0)]);
    await here.advance([subject]);
    here.pass(300);
    here.ledger.refuse(({ type }) => type === 'result');
    await expect(here.advance([subject])).rejects.toThrow(Killed);
    expect(here.target(subject, 'person').status).toBe('waiting');
    here.ledger.refuse(() => false);
    here.restart();
    await here.advance([subject]);
    expect(here.changes()).toHaveLength(1);
    expect(here.ledger.of('person')).toEqual(['intent', 'result deleted']);
  });

  it('between two of one subject: nobody knows which it was, so its events are in doubt', async () => {
    const here = await rig();
    const subject = here.request([here.person(0), here.person(1)]);
    let deletes = 0;
    here.intercept(async (request, send) => {
      if (request.method === 'DELETE') deletes += 1;
      return deletes === 2 ? killed() : send();
    });
    await expect(here.advance([subject])).rejects.toThrow(Killed);
    here.heal();
    here.restart();
    await here.advance([subject]);
    here.pass(300);
    await here.advance([subject]);
    expect(here.changes()).toHaveLength(3);
    expect(here.target(subject, 'person').result).toBe('deleted');
    expect(here.target(subject, 'events')).toMatchObject({
      status: 'attention',
      reason: 'events_unconfirmed',
    });
  });
});
