import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/core/errors.ts';
import { probeCapabilities } from '../../../src/erasure/upstream/capabilities.ts';
import type { Service } from '../../../src/client/service.ts';
import { Killed } from '../../kill/kill-switch.ts';
import { answer, isDeletion, openAsked, openUpstreamWorld, type UpstreamWorld } from './upstream-world.ts';

const bulkCalls = (world: UpstreamWorld): string[] =>
  world.asked.filter((line) => line === 'POST /persons/bulk_delete/');

describe('many persons', () => {
  it('are deleted by one call, those that it failed for by a second, and all are confirmed', async () => {
    const world = await openUpstreamWorld({ profile: 'live' });
    const subjects = world.everybody(60);
    const failing = subjects.filter(({ identity }) => identity.person_uuid[0]?.endsWith('0'));
    expect(failing.length).toBeGreaterThan(0);
    const report = await world.advance(subjects);
    expect(world.bulkBodies).toMatchObject([{ delete_events: true }, { delete_events: true }]);
    expect(world.bulkBodies.map(({ ids }) => ids.length)).toEqual([60, failing.length]);
    expect(world.singly()).toEqual([]);
    expect(report.awaiting).toHaveLength(60);
    await world.advanceAfter(300, subjects);
    for (const subject of subjects) expect(world.target(subject, 'person').result).toBe('deleted');
    expect(world.sandbox.store.events.deletions()).toHaveLength(60);
    expect(world.ledger.records.filter(({ type }) => type === 'intent')).toHaveLength(2);
    // The probe was made once.
    expect(bulkCalls(world)).toHaveLength(3);
  });

  it('are deleted one by one where there is no such call, found out without any effect', async () => {
    const world = await openUpstreamWorld();
    await world.advance(world.everybody(10));
    expect(world.singly()).toHaveLength(10);
    expect(bulkCalls(world)).toHaveLength(1);
    expect(world.bulkBodies).toEqual([]);
  });

  it('keep their events where that is asked, in a call of their own', async () => {
    const world = await openUpstreamWorld({ profile: 'live' });
    const subjects = [...world.everybody(5), ...world.everybody(10, { deleteEvents: false }).slice(5)];
    await world.advance(subjects);
    const [first, second] = world.bulkBodies.map((body) => [body.ids.length, body.delete_events]);
    expect([first, second]).toEqual([
      [5, true],
      [5, undefined],
    ]);
    expect(world.sandbox.store.events.deletions()).toHaveLength(5);
  });

  it('one alone is deleted in the same way: the call for one is deprecated there', async () => {
    const world = await openUpstreamWorld({ profile: 'live' });
    const [subject] = world.everybody(1);
    await world.advance(world.everybody(1));
    expect(world.bulkBodies).toEqual([{ ids: subject?.identity.person_uuid, delete_events: true }]);
    expect(world.singly()).toEqual([]);
  });

  it.each(['killed', 'lost', 'miscounted'] as const)('an answer that is %s leaves it to their queue', async (how) => {
    const world = await openUpstreamWorld({ profile: 'live' });
    const subjects = world.everybody(12);
    world.intercept(async (request, send) => {
      if (!isDeletion(request)) return send();
      const response = await send();
      if (how === 'killed') throw new Killed();
      if (how === 'lost') throw new AppError('no answer', { code: 'unreachable', retryable: true });
      return { ...response, bytes: Buffer.from('{"persons_deleted":3,"deletion_errors":[]}') };
    });
    if (how === 'killed') {
      await expect(world.advance(subjects)).rejects.toThrow(Killed);
      world.heal();
      world.restart();
    }
    await world.advance(subjects);
    if (how !== 'killed') world.heal();
    for (let run = 0; run < 3; run += 1) {
      const { awaiting } = await world.advanceAfter(600, subjects);
      expect(awaiting).toHaveLength(12);
    }
    for (const subject of subjects) expect(world.target(subject, 'person').result).toBe('deleted');
    expect(world.sandbox.store.events.deletions()).toHaveLength(12);
    expect(world.ledger.records.filter(({ type }) => type === 'attention')).toEqual([]);
    expect(world.singly()).toEqual([]);
  });

  it('too many requests count for nothing, and the call is made again for all', async () => {
    const world = await openUpstreamWorld({ profile: 'live' });
    const subjects = world.everybody(8);
    let calls = 0;
    world.answerTo((request) => isDeletion(request) && (calls += 1) === 1, answer(429));
    await world.advance(subjects);
    expect(world.bulkBodies).toHaveLength(2);
    for (const subject of subjects) expect(world.target(subject, 'person').attempts).toBe(1);
  });

  it('go beyond a thousand in several calls', async () => {
    const world = await openUpstreamWorld({ profile: 'live', persons: 1003, recordings: 0 });
    const subjects = world.everybody(1003);
    world.intercept((request, send) => {
      // What follows is not of this test.
      const isDone = request.method === 'GET' && world.bulkBodies.length === 2;
      return isDone ? Promise.reject(new Killed()) : send();
    });
    await expect(world.advance(subjects)).rejects.toThrow(Killed);
    expect(world.bulkBodies.map(({ ids }) => ids.length)).toEqual([1000, 3]);
    const taken = subjects.filter((subject) => world.target(subject, 'person').status === 'waiting');
    expect(taken.length).toBeGreaterThan(900);
  });
});

describe('what a service can do', () => {
  const serviceThat = (answers: { status?: number; bulk?: number }): { service: Service; calls: string[] } => {
    const calls: string[] = [];
    const call = (name: string): Promise<{ status: number; body: undefined; date: undefined }> => {
      calls.push(name);
      const status = (name === 'persons.bulk_delete' ? answers.bulk : answers.status) ?? 200;
      if (status < 300) return Promise.resolve({ status, body: undefined, date: undefined });
      return Promise.reject(new AppError('refused', { code: 'rejected', status }));
    };
    return { service: { call, requestCount: () => calls.length }, calls };
  };
  const signal = new AbortController().signal;

  it.each([
    [
      { status: 200, bulk: 400 },
      { deletionStatus: true, bulkDelete: true },
    ],
    [
      { status: 400, bulk: 405 },
      { deletionStatus: false, bulkDelete: false },
    ],
    [
      { status: 404, bulk: 404 },
      { deletionStatus: false, bulkDelete: false },
    ],
    [
      { status: 405, bulk: 400 },
      { deletionStatus: false, bulkDelete: true },
    ],
  ])('%o', async (answers, capabilities) => {
    const { service, calls } = serviceThat(answers);
    expect(await probeCapabilities(service, signal)).toEqual(capabilities);
    expect(await probeCapabilities(service, signal)).toEqual(capabilities);
    expect(calls).toEqual(['persons.deletion_status', 'persons.bulk_delete']);
  });

  it('is not told by a 404 that is not in the service’s own words', async () => {
    const { world, subject } = await openAsked({ profile: 'live' });
    world.restart();
    world.answerTo(
      ({ path }) => /deletion_status|bulk_delete/.test(path),
      answer(404, '<html>no such page</html>', 'text/html'),
    );
    await world.advance([subject]).catch(() => undefined);
    expect(world.changes()).toEqual([]);
    world.heal();
    world.restart();
    await world.advance([subject]);
    expect(world.changes()).toHaveLength(1);
  });

  it.each([401, 403, 429, 500, 503])('is not told by a %i, and asked for again', async (status) => {
    const { service, calls } = serviceThat({ status: 200, bulk: status });
    await expect(probeCapabilities(service, signal)).rejects.toMatchObject({ status });
    const asked = calls.length;
    await expect(probeCapabilities(service, signal)).rejects.toMatchObject({ status });
    expect(calls).toHaveLength(2 * asked);
  });
});
