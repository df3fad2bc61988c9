import { expect, it } from 'vitest';
import { expectedBy, openAsked } from './upstream-world.ts';

const hour = 3600;

it('are not verifiable where nothing tells of the queue, once they should be gone', async () => {
  const { world, subject } = await openAsked();
  await world.advance([subject]);
  await world.advanceAt('2025-06-09T04:59:59.999Z', [subject]);
  expect(world.target(subject, 'events')).toMatchObject({ status: 'waiting', notBefore: expectedBy });
  world.moveTo(expectedBy);
  expect((await world.advance([subject])).awaiting).toEqual([]);
  expect(world.target(subject, 'events')).toMatchObject({
    status: 'done',
    result: 'not_verifiable',
    assurance: 'not_verifiable',
  });
});

// A clock of this machine that is years behind, and right again later, must not certify a batch that has not run.
it.each([
  ['this machine', 'Thu, 01 Jan 1970 00:00:00 GMT', expectedBy],
  ['the service', 'Mon, 01 Jun 2026 00:00:00 GMT', '2026-06-08T05:00:00.000Z'],
])('are expected by the clock of %s where clocks are years apart: the later one', async (_whose, date, notBefore) => {
  const { world, subject } = await openAsked();
  world.intercept(async (_request, send) => ({ ...(await send()), date }));
  await world.advance([subject]);
  expect(world.target(subject, 'events')).toMatchObject({ status: 'waiting', notBefore });
});

it('are confirmed by the service where it tells of the queue', async () => {
  const { world, subject } = await openAsked({ profile: 'live' });
  await world.advance([subject]);
  await world.advanceAt('2025-06-09T04:59:59.999Z', [subject]);
  expect(world.target(subject, 'events').status).toBe('waiting');
  await world.advanceAt(expectedBy, [subject]);
  expect(world.target(subject, 'events')).toMatchObject({
    status: 'done',
    result: 'confirmed',
    assurance: 'asserted_by_upstream',
  });
  expect(world.ledger.of('events')).toEqual(['result confirmed']);
});

it('are overdue when the second batch has not run either, and confirmed once it has', async () => {
  const { world, subject } = await openAsked({ profile: 'live' });
  world.sandbox.act({ do: 'set_batch', runs: false });
  await world.advance([subject]);
  const asked = (): number => world.asked.filter((line) => line.includes('deletion_status/?')).length;
  await world.advanceAt(expectedBy, [subject]);
  const before = asked();
  await world.advanceAfter(hour - 1, [subject]);
  expect(asked()).toBe(before);
  await world.advanceAfter(1, [subject]);
  expect(asked()).toBe(before + 1);
  await world.advanceAt('2025-06-16T04:59:59.999Z', [subject]);
  expect(world.target(subject, 'events').status).toBe('waiting');
  await world.advanceAt('2025-06-16T06:00:00.000Z', [subject]);
  expect(world.target(subject, 'events')).toMatchObject({ status: 'attention', reason: 'events_overdue' });
  await world.advanceAfter(hour, [subject]);
  expect(world.ledger.of('events')).toEqual(['attention events_overdue']);
  world.sandbox.act({ do: 'set_batch', runs: true });
  await world.advanceAt('2025-06-22T05:00:00.000Z', [subject]);
  expect(world.target(subject, 'events')).toMatchObject({ status: 'done', result: 'confirmed', reason: null });
});

it('that the service accepted and then knows nothing of are for somebody to look at, and found if they come', async () => {
  const { world, subject } = await openAsked({ profile: 'live' });
  await world.advance([subject]);
  world.moveTo(expectedBy);
  world.intercept(async (request, send) =>
    request.path.includes('deletion_status/?') ? { ...(await send()), bytes: Buffer.from('{"results":[]}') } : send(),
  );
  await world.advance([subject]);
  expect(world.target(subject, 'events')).toMatchObject({ status: 'attention', reason: 'events_not_queued' });
  world.heal();
  await world.advanceAfter(hour, [subject]);
  expect(world.target(subject, 'events').result).toBe('confirmed');
});

it('an answer about the queue that cannot be read changes nothing', async () => {
  const { world, subject } = await openAsked({ profile: 'live' });
  await world.advance([subject]);
  world.moveTo(expectedBy);
  world.intercept(async (request, send) =>
    request.path.includes('deletion_status/?') ? { ...(await send()), bytes: Buffer.from('{"results":[{}]}') } : send(),
  );
  const report = await world.advance([subject]);
  expect(report.failed).toMatchObject([{ requestId: subject.id, error: { code: 'service' } }]);
  expect(world.target(subject, 'events').status).toBe('waiting');
});
