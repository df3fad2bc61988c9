import { expect, it } from 'vitest';
import { expectedBy, rig } from './rig.ts';

const hour = 3600;

it('are not verifiable where nothing tells of the queue, once they should be gone', async () => {
  const here = await rig();
  const subject = here.request([here.person(0)]);
  await here.advance([subject]);
  here.moveTo('2025-06-09T04:59:59.999Z');
  await here.advance([subject]);
  expect(here.target(subject, 'events')).toMatchObject({ status: 'waiting', notBefore: expectedBy });
  here.moveTo(expectedBy);
  expect((await here.advance([subject])).awaiting).toEqual([]);
  expect(here.target(subject, 'events')).toMatchObject({
    status: 'done',
    result: 'not_verifiable',
    assurance: 'not_verifiable',
  });
});

it('are confirmed by the service where it tells of the queue', async () => {
  const here = await rig({ profile: 'live' });
  const subject = here.request([here.person(0)]);
  await here.advance([subject]);
  here.moveTo('2025-06-09T04:59:59.999Z');
  await here.advance([subject]);
  expect(here.target(subject, 'events').status).toBe('waiting');
  here.moveTo(expectedBy);
  await here.advance([subject]);
  expect(here.target(subject, 'events')).toMatchObject({
    status: 'done',
    result: 'confirmed',
    assurance: 'asserted_by_upstream',
  });
  expect(here.ledger.of('events')).toEqual(['result confirmed']);
});

it('are overdue when the second batch has not run either, and confirmed once it has', async () => {
  const here = await rig({ profile: 'live' });
  const subject = here.request([here.person(0)]);
  here.sandbox.act({ do: 'set_batch', runs: false });
  await here.advance([subject]);
  const asked = (): number => here.asked.filter((line) => line.includes('deletion_status/?')).length;
  here.moveTo(expectedBy);
  await here.advance([subject]);
  const before = asked();
  here.pass(hour - 1);
  await here.advance([subject]);
  expect(asked()).toBe(before);
  here.pass(1);
  await here.advance([subject]);
  expect(asked()).toBe(before + 1);
  here.moveTo('2025-06-16T04:59:59.999Z');
  await here.advance([subject]);
  expect(here.target(subject, 'events').status).toBe('waiting');
  here.moveTo('2025-06-16T06:00:00.000Z');
  await here.advance([subject]);
  expect(here.target(subject, 'events')).toMatchObject({ status: 'attention', reason: 'events_overdue' });
  here.pass(hour);
  await here.advance([subject]);
  expect(here.ledger.of('events')).toEqual(['attention events_overdue']);
  here.sandbox.act({ do: 'set_batch', runs: true });
  here.moveTo('2025-06-22T05:00:00.000Z');
  await here.advance([subject]);
  expect(here.target(subject, 'events')).toMatchObject({ status: 'done', result: 'confirmed', reason: null });
});

it('that the service accepted and then knows nothing of are for somebody to look at', async () => {
  const here = await rig({ profile: 'live' });
  const subject = here.request([here.person(0)]);
  await here.advance([subject]);
  here.moveTo(expectedBy);
  here.intercept(async (request, send) =>
    request.path.includes('deletion_status/?') ? { ...(await send()), text: '{"results":[]}' } : send(),
  );
  await here.advance([subject]);
  expect(here.target(subject, 'events')).toMatchObject({ status: 'attention', reason: 'events_unconfirmed' });
  here.heal();
  here.pass(hour);
  await here.advance([subject]);
  expect(here.target(subject, 'events').result).toBe('confirmed');
});

it('an answer about the queue that cannot be read changes nothing', async () => {
  const here = await rig({ profile: 'live' });
  const subject = here.request([here.person(0)]);
  await here.advance([subject]);
  here.moveTo(expectedBy);
  here.intercept(async (request, send) =>
    request.path.includes('deletion_status/?') ? { ...(await send()), text: '{"results":[{}]}' } : send(),
  );
  const report = await here.advance([subject]);
  expect(report.failed).toMatchObject([{ target: 'upstream.events', error: { code: 'service' } }]);
  expect(here.target(subject, 'events').status).toBe('waiting');
});
