import { expect, it } from 'vitest';
import { answer, rig } from './rig.ts';

it.each([
  ['unknown', 401],
  ['readOnly', 403],
] as const)('a key that is %s ends all with one clear error, and loses nothing', async (key, status) => {
  const here = await rig({ key });
  const subjects = Array.from({ length: 9 }, (_, index) => here.request([here.person(index)]));
  await expect(here.advance(subjects)).rejects.toMatchObject({ code: 'refused', status });
  for (const subject of subjects) {
    expect(here.target(subject, 'person')).toMatchObject({ status: 'pending', attempts: 0 });
    expect(here.target(subject, 'events').status).toBe('pending');
  }
  expect([...here.sandbox.gone()]).toEqual([]);
});

it('a key that loses its right ends all once those under way have ended', async () => {
  const here = await rig();
  const subjects = Array.from({ length: 8 }, (_, index) => here.request([here.person(index)]));
  let deletes = 0;
  here.intercept(async (request, send) => {
    if (request.method !== 'DELETE') return send();
    deletes += 1;
    return deletes === 2 ? answer(403, '{"detail":"API key missing required scope"}') : send();
  });
  await expect(here.advance(subjects)).rejects.toMatchObject({ code: 'refused', status: 403 });
  expect(deletes).toBe(4);
  const statuses = subjects.map((subject) => here.target(subject, 'person').status);
  expect(statuses.filter((status) => status === 'waiting')).toHaveLength(3);
  expect(statuses.filter((status) => status === 'pending')).toHaveLength(5);
  here.heal();
  await here.advance(subjects);
  expect(here.changes()).toHaveLength(9);
  expect([...here.sandbox.gone()]).toHaveLength(8);
});

it('a project that has vanished makes nobody absent', async () => {
  const here = await rig();
  const subject = here.request([here.person(0)]);
  const nameless = here.request([here.person(1)]);
  here.sandbox.act({ do: 'set_project', vanished: true });
  for (const each of [subject, { ...nameless, identity: { ...nameless.identity, distinct_id: [] } }]) {
    await expect(here.advance([each])).rejects.toMatchObject({ code: 'refused', status: 404 });
    expect(here.target(each, 'person').status).toBe('pending');
  }
});

it('lists that are empty make nobody absent', async () => {
  const here = await rig();
  const subject = here.request([here.person(0)]);
  here.sandbox.act({ do: 'set_lists', empty: true });
  await here.advance([subject]);
  expect(here.changes()).toHaveLength(1);
});

it('too many requests: the deletion is made once, after the pause, and counts once', async () => {
  const here = await rig();
  const subject = here.request([here.person(0)]);
  let deletes = 0;
  here.intercept((request, send) => {
    if (request.method !== 'DELETE' || (deletes += 1) > 2) return send();
    return Promise.resolve({ ...answer(429), retryAfter: '30' });
  });
  const startedMs = here.clock.now();
  await here.advance([subject]);
  expect(here.clock.now() - startedMs).toBeGreaterThanOrEqual(60_000);
  expect(here.changes()).toHaveLength(3);
  expect(here.target(subject, 'person')).toMatchObject({ status: 'waiting', attempts: 1 });
  expect(here.target(subject, 'events').status).toBe('waiting');
});

it('a deletion that is refused for itself is for somebody to look at, and made again a day later', async () => {
  const here = await rig();
  const subject = here.request([here.person(0)]);
  here.intercept((request, send) => (request.method === 'DELETE' ? Promise.resolve(answer(409)) : send()));
  await here.advance([subject]);
  expect(here.changes()).toHaveLength(1);
  expect(here.target(subject, 'person')).toMatchObject({ status: 'attention', reason: 'upstream_refuses' });
  here.pass(3600);
  await here.advance([subject]);
  expect(here.changes()).toHaveLength(1);
  here.heal();
  here.pass(86_400);
  await here.advance([subject]);
  expect(here.target(subject, 'person')).toMatchObject({ status: 'waiting', reason: null });
});

it('a redirect is followed nowhere', async () => {
  const here = await rig();
  const subject = here.request([here.person(0)]);
  here.intercept((request, send) => (request.method === 'DELETE' ? Promise.resolve(answer(302)) : send()));
  await here.advance([subject]);
  expect(here.changes()).toHaveLength(1);
  expect(here.target(subject, 'person').reason).toBe('upstream_refuses');
});

it('one person at whom the service fails does not keep the others', async () => {
  const here = await rig();
  const [sick, well] = [here.person(0), here.person(1)];
  const subjects = [here.request([sick]), here.request([well])];
  here.intercept((request, send) =>
    request.path.includes(`/persons/${sick.id}/`) ? Promise.resolve(answer(500)) : send(),
  );
  const report = await here.advance(subjects);
  expect(report.failed).toMatchObject([
    { requestId: subjects[0]?.id, target: 'upstream.person', error: { code: 'service', status: 500 } },
  ]);
  expect(here.changes()).toEqual([`DELETE /persons/${well.id}/?delete_events=true`]);
});

it('a service that fails at everybody is given up', async () => {
  const here = await rig();
  const subjects = Array.from({ length: 40 }, (_, index) => here.request([here.person(index)]));
  here.intercept((request, send) =>
    /persons\/\d/.test(request.path) ? Promise.resolve(answer(500)) : send(),
  );
  await expect(here.advance(subjects)).rejects.toMatchObject({ code: 'service', status: 500 });
  expect(here.asked.length).toBeLessThan(50);
});

it('stops when it is told to', async () => {
  const here = await rig();
  const subject = here.request([here.person(0)]);
  const controller = new AbortController();
  controller.abort(new Error('told to stop'));
  await expect(here.advance([subject], controller.signal)).rejects.toThrow('told to stop');
  expect(here.asked).toEqual([]);
});
