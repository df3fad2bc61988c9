import { expect, it } from 'vitest';
import type { Subject } from '../../../src/erasure/request/box.ts';
import { answer, openAsked, openUpstreamWorld } from './upstream-world.ts';

it.each([
  ['unknown', 401],
  ['readOnly', 403],
] as const)('a key that is %s ends all with one clear error, and loses nothing', async (key, status) => {
  const world = await openUpstreamWorld({ key });
  const subjects = world.everybody(9);
  await expect(world.advance(subjects)).rejects.toMatchObject({ code: 'refused', status });
  for (const subject of subjects) {
    expect(world.target(subject, 'person')).toMatchObject({ status: 'pending', attempts: 0 });
    expect(world.target(subject, 'events').status).toBe('pending');
  }
  expect([...world.sandbox.gone()]).toEqual([]);
});

it('a key that loses its right ends all once those under way have ended', async () => {
  const world = await openUpstreamWorld();
  const subjects = world.everybody(8);
  let deletes = 0;
  const refusal = answer(403, '{"detail":"API key missing required scope \'person:write\'"}');
  world.intercept(async (request, send) => {
    if (request.method === 'PATCH') return refusal;
    if (request.method !== 'DELETE') return send();
    deletes += 1;
    return deletes === 2 ? refusal : send();
  });
  await expect(world.advance(subjects)).rejects.toMatchObject({ code: 'refused', status: 403 });
  expect(deletes).toBe(4);
  const statuses = subjects.map((subject) => world.target(subject, 'person').status);
  expect(statuses.filter((status) => status === 'waiting')).toHaveLength(3);
  expect(statuses.filter((status) => status === 'pending')).toHaveLength(5);
  world.heal();
  await world.advance(subjects);
  expect(world.changes().filter((change) => change.startsWith('DELETE'))).toHaveLength(9);
  expect([...world.sandbox.gone()]).toHaveLength(8);
});

it('a project that has vanished makes nobody absent', async () => {
  const { world, subject } = await openAsked();
  const nameless = world.request([world.person(1)]);
  world.sandbox.act({ do: 'set_project', vanished: true });
  for (const each of [subject, { ...nameless, identity: { ...nameless.identity, distinct_id: [] } }]) {
    await expect(world.advance([each])).rejects.toMatchObject({ code: 'refused', status: 404 });
    expect(world.target(each, 'person').status).toBe('pending');
  }
});

it('lists that are empty make nobody absent', async () => {
  const { world, subject } = await openAsked();
  world.sandbox.act({ do: 'set_lists', empty: true });
  await world.advance([subject]);
  expect(world.changes()).toHaveLength(1);
});

it('too many requests: the deletion is made once, after the pause, and counts once', async () => {
  const { world, subject } = await openAsked();
  let deletes = 0;
  world.intercept((request, send) => {
    if (request.method !== 'DELETE' || (deletes += 1) > 2) return send();
    return Promise.resolve({ ...answer(429), retryAfter: '30' });
  });
  const startedMs = world.clock.now();
  await world.advance([subject]);
  expect(world.clock.now() - startedMs).toBeGreaterThanOrEqual(60_000);
  expect(world.changes()).toHaveLength(3);
  expect(world.target(subject, 'person')).toMatchObject({ status: 'waiting', attempts: 1 });
  expect(world.target(subject, 'events').status).toBe('waiting');
});

it.each(['DELETE', 'GET'])(
  'a %s that is answered with a wait longer than is obeyed ends all, and loses nothing',
  async (meant) => {
    const world = await openUpstreamWorld();
    const subjects = world.everybody(12);
    const wait = { ...answer(429, '<html></html>', 'text/html'), retryAfter: '1000000000' };
    world.answerTo(({ method }) => method === meant, wait);
    const startedMs = world.clock.now();
    await expect(world.advance(subjects)).rejects.toMatchObject({ code: 'service', status: 429, retryable: false });
    // Those that were under way have waited for as long as is obeyed.
    expect(world.clock.now() - startedMs).toBeLessThanOrEqual(4 * 60_000);
    expect(world.target(subjects[0] as Subject, 'person')).toMatchObject({ status: 'pending', attempts: 0 });
    world.heal();
    await world.advance(subjects);
    expect([...world.sandbox.gone()]).toHaveLength(12);
  },
);

it.each(['-5', 'Mon, 01 Jan 2001 00:00:00 GMT', '0', 'soon'])(
  'a wait of %s after too many requests is none, and the deletion is made again',
  async (retryAfter) => {
    const { world, subject } = await openAsked();
    let deletes = 0;
    world.intercept((request, send) => {
      if (request.method !== 'DELETE' || (deletes += 1) > 2) return send();
      return Promise.resolve({ ...answer(429), retryAfter });
    });
    const startedMs = world.clock.now();
    await world.advance([subject]);
    expect(world.clock.now() - startedMs).toBeLessThan(60_000);
    expect(world.target(subject, 'person')).toMatchObject({ status: 'waiting', attempts: 1 });
  },
);

it.each([
  // Nobody has looked whether the last one was in vain, too.
  [404, 2, 2],
  [429, 8, 1],
])(
  'a person whose deletion is answered %i again and again is not left without a word',
  async (status, times, attempts) => {
    const { world, subject } = await openAsked();
    world.answerTo(({ method }) => method === 'DELETE', answer(status));
    const { failed } = await world.advance([subject]);
    expect(failed).toMatchObject([{ requestId: subject.id, error: { status } }]);
    expect(world.changes()).toHaveLength(times);
    world.heal();
    expect((await world.advance([subject])).failed).toEqual([]);
    expect(world.target(subject, 'person')).toMatchObject({ status: 'waiting', attempts });
  },
);

it('a deletion that is refused for itself is for somebody to look at, and made again a day later', async () => {
  const { world, subject } = await openAsked();
  world.answerTo(({ method }) => method === 'DELETE', answer(409));
  await world.advance([subject]);
  expect(world.changes()).toHaveLength(1);
  expect(world.target(subject, 'person')).toMatchObject({ status: 'attention', reason: 'upstream_refuses' });
  await world.advanceAfter(3600, [subject]);
  expect(world.changes()).toHaveLength(1);
  world.heal();
  await world.advanceAfter(86_400, [subject]);
  expect(world.target(subject, 'person')).toMatchObject({ status: 'waiting', reason: null });
});

it('a redirect is followed nowhere', async () => {
  const { world, subject } = await openAsked();
  world.answerTo(({ method }) => method === 'DELETE', answer(302));
  await world.advance([subject]);
  expect(world.changes()).toHaveLength(1);
  expect(world.target(subject, 'person').reason).toBe('upstream_refuses');
});

it('one person whose deletion is refused to the key does not keep the others', async () => {
  const world = await openUpstreamWorld();
  const [kept] = [world.person(0)];
  const subjects = world.everybody(6);
  const isTheirs = ({ method, path }: { method: string; path: string }): boolean =>
    method === 'DELETE' && path.includes(`/persons/${kept.id}/`);
  world.answerTo(isTheirs, answer(403, '{"detail":"You do not have permission to perform this action."}'));
  await world.advance(subjects);
  expect(subjects.map((subject) => world.target(subject, 'person').reason)).toEqual([
    'upstream_refuses',
    ...Array.from({ length: 5 }, () => expect.not.stringContaining('refuses')),
  ]);
  expect([...world.sandbox.gone()]).toHaveLength(5);
});

// Ten were taken for a failure of the service, in each run again: nobody was deleted any more.
it('persons whom the service refuses the key do not keep the others, however many they are', async () => {
  const world = await openUpstreamWorld();
  const kept = Array.from({ length: 12 }, (_, index) => `/persons/${world.person(index).id}/`);
  const subjects = world.everybody(15);
  world.answerTo(
    ({ method, path }) => method === 'GET' && kept.some((each) => path.includes(each)),
    answer(403, '{"detail":"You do not have permission to perform this action."}'),
  );
  await world.advance(subjects);
  expect([...world.sandbox.gone()]).toHaveLength(3);
});

it('one person at whom the service fails does not keep the others', async () => {
  const world = await openUpstreamWorld();
  const [sick, well] = [world.person(0), world.person(1)];
  const subjects = [world.request([sick]), world.request([well])];
  world.answerTo(({ path }) => path.includes(`/persons/${sick.id}/`), answer(500));
  const report = await world.advance(subjects);
  expect(report.failed).toMatchObject([{ requestId: subjects[0]?.id, error: { code: 'service', status: 500 } }]);
  expect(world.changes()).toEqual([`DELETE /persons/${well.id}/?delete_events=true`]);
});

// Ten ended each run before anybody was deleted.
it('ten persons at whom the service fails do not keep the others for ever', async () => {
  const world = await openUpstreamWorld();
  const sick = Array.from({ length: 10 }, (_, index) => world.person(index));
  const subjects = world.everybody(13);
  world.answerTo(({ path }) => sick.some(({ id }) => path.includes(`/persons/${id}/`)), answer(500));
  for (let run = 0; run < 13; run += 1) {
    await world.advance(subjects);
    world.pass(run);
  }
  expect([...world.sandbox.gone()]).toHaveLength(3);
});

it('one person whose distinct id a firewall lets not pass does not keep the others', async () => {
  const world = await openUpstreamWorld();
  const people = [world.person(0), world.person(1)];
  const subjects = world.everybody(2);
  const blocked = people[0]?.distinct_ids.map((id) => `distinct_id=${encodeURIComponent(id)}`) ?? [];
  world.answerTo(({ path }) => blocked.some((query) => path.includes(query)), answer(403, '<html>', 'text/html'));
  const { failed } = await world.advance(subjects);
  expect(failed).toMatchObject([{ requestId: subjects[0]?.id, error: { code: 'service', status: 403 } }]);
  expect(world.changes()).toContain(`DELETE /persons/${people[1]?.id}/?delete_events=true`);
});

it('a service that fails at everybody is given up', async () => {
  const world = await openUpstreamWorld();
  const subjects = world.everybody(40);
  world.answerTo(({ path }) => /persons\/\d/.test(path), answer(500));
  expect((await world.advance(subjects)).ended).toMatchObject({ code: 'service', status: 500 });
  expect(world.asked.length).toBeLessThan(50);
});

it('stops when it is told to', async () => {
  const { world, subject } = await openAsked();
  const controller = new AbortController();
  controller.abort(new Error('told to stop'));
  await expect(world.advance([subject], controller.signal)).rejects.toThrow('told to stop');
  expect(world.asked).toEqual([]);
});
