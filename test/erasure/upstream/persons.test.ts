import { describe, expect, it } from 'vitest';
import { answer, expectedBy, rig } from './rig.ts';

describe.each(['documented', 'live'] as const)('a person of the %s service', (profile) => {
  const ref = (person: { id: number }): number => person.id;

  it('is deleted once, with its events, and confirmed twice, apart in time', async () => {
    const here = await rig({ profile });
    const person = here.person(0);
    const subject = here.request([person]);
    const report = await here.advance([subject]);
    expect(here.changes()).toEqual([`DELETE /persons/${ref(person)}/?delete_events=true`]);
    expect(here.sandbox.store.persons.find(person.id)).toBeUndefined();
    expect(here.target(subject, 'person')).toMatchObject({
      status: 'waiting',
      confirmations: 1,
      notBefore: '2025-06-04T12:05:00.000Z',
    });
    expect(report).toEqual({
      awaiting: [{ requestId: subject.id, eventsExpectedBy: expectedBy }],
      withoutDate: [],
      failed: [],
    });
    here.asked.length = 0;
    here.pass(299);
    await here.advance([subject]);
    expect(here.asked).toEqual([]);
    here.pass(1);
    await here.advance([subject]);
    expect(here.target(subject, 'person')).toMatchObject({
      status: 'done',
      result: 'deleted',
      assurance: 'observed',
    });
    expect(here.changes()).toEqual([]);
    expect(here.ledger.of('person')).toEqual(['intent', 'result deleted']);
    expect(here.asked.filter((line) => line.includes('distinct_id='))).toHaveLength(
      person.distinct_ids.length,
    );
  });

  it('keeps its events unless they are to be deleted: the parameter is not even there', async () => {
    const here = await rig({ profile });
    const person = here.person(3);
    const subject = here.request([person], { deleteEvents: false });
    const report = await here.advance([subject]);
    expect(here.changes()).toEqual([`DELETE /persons/${ref(person)}/`]);
    expect(here.sandbox.store.events.deletions()).toEqual([]);
    expect(here.target(subject, 'events')).toMatchObject({
      status: 'done',
      result: 'kept',
      assurance: 'observed',
    });
    expect(report.awaiting).toEqual([]);
  });

  it('that one request deletes with its events is left to that one by another that keeps them', async () => {
    const here = await rig({ profile });
    const person = here.person(3);
    const narrow = here.request([person], { deleteEvents: false });
    const wide = here.request([person]);
    const subjects = [narrow, wide];
    here.intercept((request, send) => (request.method === 'DELETE' ? Promise.resolve(answer(429)) : send()));
    await here.advance(subjects);
    expect(here.changes().every((line) => line.endsWith('?delete_events=true'))).toBe(true);
    here.heal();
    here.asked.length = 0;
    await here.advance(subjects);
    here.pass(300);
    await here.advance(subjects);
    expect(here.changes()).toEqual([`DELETE /persons/${ref(person)}/?delete_events=true`]);
    expect(here.target(wide, 'person').result).toBe('deleted');
    expect(here.target(narrow, 'person').result).toBe('already_absent');
    expect(here.target(narrow, 'events').result).toBe('kept');
    expect(here.sandbox.store.events.deletions()).toHaveLength(1);
  });

  it('is deleted whatever else its row holds', async () => {
    const here = await rig({ profile });
    const person = here.person(0);
    const subject = here.request([person]);
    const deep = `{"a":${'['.repeat(300)}${']'.repeat(300)}}`;
    here.intercept(async (_request, send) => {
      const response = await send();
      return {
        ...response,
        text: response.text.replace('"properties":{', `"properties":${deep},"name":5,"more":{`),
      };
    });
    await here.advance([subject]);
    expect(here.sandbox.store.persons.find(person.id)).toBeUndefined();
    expect(here.target(subject, 'person')).toMatchObject({ status: 'waiting', confirmations: 1 });
  });

  it('that is not there is absent already, without an intent', async () => {
    const here = await rig({ profile });
    const person = here.person(1);
    here.sandbox.act({ do: 'delete', uuid: person.uuid });
    const subject = here.request([person]);
    await here.advance([subject]);
    expect(here.changes()).toEqual([]);
    expect(here.ledger.of('person')).toEqual(['result already_absent']);
    expect(here.target(subject, 'person').assurance).toBe('observed');
    expect(here.target(subject, 'events')).toMatchObject({
      result: 'not_verifiable',
      assurance: 'not_verifiable',
    });
  });

  it('whose distinct id somebody else has now is for somebody to look at', async () => {
    const here = await rig({ profile });
    const person = here.person(1);
    here.sandbox.act({ do: 'delete', uuid: person.uuid });
    here.sandbox.act({ do: 'create', distinct_ids: [person.distinct_ids[0] ?? ''] });
    const subject = here.request([person]);
    await here.advance([subject]);
    expect(here.changes()).toEqual([]);
    expect(here.target(subject, 'person')).toMatchObject({ status: 'attention', reason: 'outcome_unknown' });
    here.pass(300);
    await here.advance([subject]);
    expect(here.ledger.of('person')).toEqual(['attention outcome_unknown']);
  });

  it('whose distinct id somebody else has come by since its deletion is gone all the same', async () => {
    const here = await rig({ profile });
    const person = here.person(1);
    const subject = here.request([person]);
    here.intercept(async (request, send) => {
      const response = await send();
      if (request.method === 'DELETE')
        here.sandbox.act({ do: 'create', distinct_ids: [person.distinct_ids[0] ?? '', 'grabbed-it'] });
      return response;
    });
    await here.advance([subject]);
    here.heal();
    here.pass(300);
    await here.advance([subject]);
    expect(here.ledger.of('person')).toEqual(['intent', 'result deleted']);
    expect(here.changes()).toHaveLength(1);
  });

  it('is not told to be gone by a list that shows whom it was not asked for', async () => {
    const here = await rig({ profile });
    const [person, other] = [here.person(1), here.person(2)];
    const subject = here.request([person]);
    await here.advance([subject]);
    here.intercept((request, send) =>
      send().then(async (response) =>
        request.path.includes('distinct_id=')
          ? { ...response, text: JSON.stringify({ next: null, previous: null, results: [other] }) }
          : response,
      ),
    );
    here.pass(300);
    await here.advance([subject]);
    expect(here.target(subject, 'person')).toMatchObject({ status: 'attention', reason: 'outcome_unknown' });
  });

  it('that was several before a merge is deleted whole', async () => {
    const here = await rig({ profile });
    const [first, second] = [here.person(4), here.person(5)];
    const subject = here.request([first, second]);
    await here.advance([subject]);
    expect(here.changes()).toHaveLength(2);
    here.pass(300);
    await here.advance([subject]);
    expect(here.target(subject, 'person')).toMatchObject({ status: 'done', result: 'deleted' });
    expect(here.target(subject, 'events').status).toBe('waiting');
    expect(
      here.sandbox.store.events
        .deletions()
        .map(({ personUuid }) => personUuid)
        .toSorted(),
    ).toEqual([first.uuid, second.uuid].toSorted());
  });

  it('a merged one of which only the survivor lives is deleted without a doubt', async () => {
    const here = await rig({ profile });
    const [loser, survivor] = [here.person(4), here.person(5)];
    here.sandbox.act({ do: 'merge', loser: loser.uuid, survivor: survivor.uuid });
    const subject = here.request([loser, survivor]);
    await here.advance([subject]);
    here.pass(300);
    await here.advance([subject]);
    expect(here.changes()).toHaveLength(1);
    expect(here.target(subject, 'person').result).toBe('deleted');
    expect(here.ledger.of('events')).toEqual([]);
  });

  it('that comes back under its uuid is not deleted for ever', async () => {
    const here = await rig({ profile });
    const person = here.person(2);
    const subject = here.request([person]);
    await here.advance([subject]);
    here.pass(300);
    here.sandbox.act({ do: 'resurrect', uuid: person.uuid });
    await here.advance([subject]);
    expect(here.changes()).toHaveLength(1);
    expect(here.target(subject, 'person')).toMatchObject({ status: 'attention', reason: 'recreated' });
    here.pass(300);
    await here.advance([subject]);
    expect(here.changes()).toHaveLength(1);
    expect(here.ledger.of('person')).toEqual(['intent', 'attention recreated']);
    expect(here.target(subject, 'person').seenAt).toBe('2025-06-04T12:10:00.000Z');
    here.sandbox.act({ do: 'delete', uuid: person.uuid });
    here.pass(300);
    await here.advance([subject]);
    expect(here.target(subject, 'person').seenAt).toBeNull();
  });
});

it('one that is newer than was known is no other life while the service still shows it', async () => {
  const here = await rig();
  const person = here.person(0);
  const subject = { ...here.request([person]), createdAt: '2001-01-01T00:00:00Z' };
  here.intercept((request, send) => (request.method === 'DELETE' ? Promise.resolve(answerAccepted) : send()));
  await here.advance([subject]);
  expect(here.target(subject, 'person')).toMatchObject({
    status: 'waiting',
    sentCreatedAt: person.created_at,
  });
});

it('another person under the id is for somebody to look at', async () => {
  const here = await rig();
  const [person, other] = [here.person(0), here.person(1)];
  const subject = here.request([person]);
  await here.advance([{ ...subject, identity: { ...subject.identity, person_id: [String(other.id)] } }]);
  expect(here.changes()).toEqual([]);
  expect(here.target(subject, 'person')).toMatchObject({ status: 'attention', reason: 'outcome_unknown' });
});

it('people whose integer ids are not known are found by their distinct ids; one answer tells that uuids lead nowhere', async () => {
  const here = await rig();
  const people = [here.person(0), here.person(1)];
  const subjects = people.map((person) => {
    const subject = here.request([person]);
    return { ...subject, identity: { ...subject.identity, person_id: [] } };
  });
  here.settings.budget.concurrency = 1;
  await here.advance(subjects);
  expect(here.changes()).toEqual(people.map(({ id }) => `DELETE /persons/${id}/?delete_events=true`));
  expect(here.asked.filter((line) => line.includes(people[0]?.uuid ?? '-'))).toHaveLength(1);
  expect(here.asked.filter((line) => line.includes(people[1]?.uuid ?? '-'))).toEqual([]);
  here.pass(300);
  await here.advance(subjects);
  for (const subject of subjects) expect(here.target(subject, 'person').result).toBe('deleted');
});

it('somebody whom neither id nor uuid can be asked for is not taken for absent', async () => {
  const here = await rig();
  const person = here.person(0);
  here.sandbox.act({ do: 'delete', uuid: person.uuid });
  const subject = here.request([person]);
  await here.advance([{ ...subject, identity: { ...subject.identity, person_id: [] } }]);
  expect(here.target(subject, 'person')).toMatchObject({ status: 'attention', reason: 'outcome_unknown' });
});

it('a deletion that the service takes and does not make is sent again, after a pause, so often and no more', async () => {
  const here = await rig();
  const person = here.person(0);
  const subject = here.request([person]);
  here.intercept((request, send) =>
    request.method === 'DELETE' ? Promise.resolve({ ...answerAccepted }) : send(),
  );
  for (let tick = 0; tick < 8; tick += 1) {
    await here.advance([subject]);
    here.pass(300);
  }
  expect(here.changes()).toHaveLength(here.settings.retry.attemptsMax);
  expect(here.target(subject, 'person')).toMatchObject({ status: 'attention', reason: 'outcome_unknown' });
  here.heal();
  here.sandbox.act({ do: 'delete', uuid: person.uuid });
  await here.advance([subject]);
  here.pass(300);
  await here.advance([subject]);
  expect(here.target(subject, 'person')).toMatchObject({ status: 'done', result: 'deleted', reason: null });
});

const answerAccepted = { status: 202, contentType: '', retryAfter: undefined, date: undefined, text: '' };

it('an answer without a Date counts by the own clock, and says so', async () => {
  const here = await rig();
  const subject = here.request([here.person(0)]);
  here.intercept(async (_request, send) => ({ ...(await send()), date: undefined }));
  const report = await here.advance([subject]);
  expect(report.withoutDate).toEqual([subject.id]);
  expect(report.awaiting).toEqual([{ requestId: subject.id, eventsExpectedBy: expectedBy }]);
});

it("counts by the service's clock, not by the own", async () => {
  const here = await rig();
  // Past the next batch.
  here.sandbox.clock.moveTo(Date.parse('2025-06-08T05:00:00Z'));
  const subject = here.request([here.person(0)]);
  const report = await here.advance([subject]);
  expect(report.awaiting).toEqual([{ requestId: subject.id, eventsExpectedBy: '2025-06-16T05:00:00.000Z' }]);
});
