import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readCertificate, type Certificate } from '../../src/erasure/proof/certificate.ts';
import { certificatePath } from '../../src/erasure/proof/certificate-file.ts';
import { planErasure } from '../../src/erasure/plan.ts';
import { approveRequest } from '../../src/erasure/receive.ts';
import { certificateWords } from '../../docs/verifier/certificate-words.mjs';
import type { DeletionRows } from '../../src/sandbox/store/events.ts';
import { listRequests } from '../../src/mirror/erasure-requests.ts';
import { listTargets } from '../../src/mirror/erasure-targets.ts';
import { problemsOf } from './bound/bound-world.ts';
import { openErasureWorld, type ErasureWorld } from './erasure-world.ts';
import { reuseDuckDb } from '../snapshot/one-duckdb.ts';

reuseDuckDb();

const name = 'own-deletions-canary@x.example';

type History = { rows: DeletionRows; queuedDaysBefore: number | null };

/** A person who is mirrored, with one event from long ago, and one from now. */
async function openWorld({ rows, queuedDaysBefore }: History): Promise<{ world: ErasureWorld; uuid: string }> {
  const live = { deletionRows: rows, ghostShare: 0, ghostRun: 0 };
  const world = await openErasureWorld(5, [], { profile: 'live', live });
  const { sandbox } = world;
  const event = (): void => sandbox.store.events.add({ distinctId: name, event: 'seen', atMs: sandbox.clock.now() });
  const uuid = world.create([name], { email: name });
  event();
  // Five days after a Wednesday is a Monday.
  world.pass(5);
  if (queuedDaysBefore !== null) {
    sandbox.act({ do: 'delete_events', uuid });
    world.pass(queuedDaysBefore);
  }
  event();
  await world.sync();
  await world.request([{ kind: 'uuid', value: uuid }]);
  return { world, uuid };
}

/** Reconciles every six hours, until the request has its certificate. */
async function certificateOf(world: ErasureWorld): Promise<Certificate> {
  for (let step = 0; step < 4 * 30 && world.onlyRequest().certifiedAt === null; step += 1) {
    await world.reconcile();
    world.pass(0.25);
  }
  const { id, generation } = world.onlyRequest();
  const certificate = readCertificate(readFileSync(certificatePath(world.dataDir, id, generation), 'utf8'));
  if (!certificate) throw new Error('no certificate');
  return certificate;
}

/** What the certificate says of the events, and that it follows from the ledger. */
async function saidOf(world: ErasureWorld): Promise<{ result: string | undefined; summary: string; left: number }> {
  const certificate = await certificateOf(world);
  expect(await problemsOf(world)).toEqual([]);
  const events = certificate.targets.find(({ target }) => target === 'upstream.events');
  const { summary } = certificateWords(certificate);
  return { result: events?.result, summary, left: world.sandbox.store.events.count(name) };
}

const approve = (world: ErasureWorld, id: string) => world.erase((job) => approveRequest(job, id));

const deleted = /events deleted, as the service says/;

it('of a row of three weeks ago that is done, a certificate does not say that events were deleted', async () => {
  const { world } = await openWorld({ rows: 'one_ever', queuedDaysBefore: 21 });
  const { result, summary, left } = await saidOf(world);
  expect({ result, left }).toEqual({ result: 'not_queued', left: 1 });
  expect(summary).toMatch(/; no deletion of the events shown by the service;/);
  expect(summary).not.toMatch(deleted);
});

it('of events of which none is queued, an operator can end the request at once', async () => {
  const { world } = await openWorld({ rows: 'one_ever', queuedDaysBefore: 21 });
  for (let step = 0; step < 8; step += 1) {
    await world.reconcile();
    world.pass(0.25);
  }
  const { id, reason } = world.onlyRequest();
  expect(reason).toBe('events_not_queued');
  await approve(world, id);
  await world.reconcile();
  expect(world.onlyRequest().state).toBe('sealed');
  expect(await saidOf(world)).toMatchObject({ result: 'not_queued', left: 1 });
});

it('of a row of Monday that waits on Thursday, and that an operator does not wait for, neither', async () => {
  const { world } = await openWorld({ rows: 'one_waiting', queuedDaysBefore: 3 });
  await world.reconcile();
  const { id, state, reason, eventsExpectedBy } = world.onlyRequest();
  expect({ state, reason }).toEqual({ state: 'attention', reason: 'events_queued_before' });
  expect(eventsExpectedBy).toBe('2026-11-30T05:00:00.000Z');
  const { plan } = await world.look((context) => planErasure(context));
  expect(plan.requests).toMatchObject([{ decision: 'continue', reason: 'events_queued_before' }]);
  await approve(world, id);
  const { result, summary, left } = await saidOf(world);
  expect({ result, left }).toEqual({ result: 'partly_deleted', left: 1 });
  expect(summary).toMatch(/; only a part of the events was deleted, as the service says;/);
  expect(summary).not.toMatch(deleted);
  const certificate = await certificateOf(world);
  expect(certificate).toMatchObject({ weakest_assurance: 'not_reached' });
  const told = certificate.targets.find(({ target }) => target === 'upstream.events');
  expect(told).toMatchObject({ result: 'partly_deleted', until: '2026-11-23T09:00:00.000Z' });
});

it('nor of a row that waits at an older release, which queues no other one for ever', async () => {
  const { world } = await openWorld({ rows: 'one_ever', queuedDaysBefore: 3 });
  const { result, summary, left } = await saidOf(world);
  expect({ result, left }).toEqual({ result: 'not_queued', left: 1 });
  expect(summary).not.toMatch(deleted);
});

it.each([
  ['there is no earlier row', { rows: 'one_waiting', queuedDaysBefore: null }],
  ['the earlier row is done', { rows: 'one_waiting', queuedDaysBefore: 21 }],
  ['the earlier row is waited for', { rows: 'one_waiting', queuedDaysBefore: 3 }],
  ['each deletion has its row', { rows: 'always', queuedDaysBefore: 21 }],
] as const)('of its own row it says that events were deleted, and none is left, where %s', async (_where, history) => {
  const { world } = await openWorld(history);
  const { result, summary, left } = await saidOf(world);
  expect({ result, left }).toEqual({ result: 'confirmed', left: 0 });
  expect(summary).toMatch(deleted);
});

it('of a person who is deleted elsewhere while an earlier row waits, it does not say that the events have a day', async () => {
  const { world, uuid } = await openWorld({ rows: 'one_waiting', queuedDaysBefore: 3 });
  await world.reconcile();
  expect(world.onlyRequest()).toMatchObject({ state: 'attention', reason: 'events_queued_before' });
  world.sandbox.act({ do: 'delete', uuid });
  world.pass(0.25);
  const { result, summary } = await saidOf(world);
  expect(result).toBe('not_verifiable');
  expect(summary).toMatch(/; already gone at the service; deletion of the events not verifiable\.$/);
  expect((await certificateOf(world)).not_proven).not.toContain('wait_dropped');
});

it('of events that another request for the same person deletes, no certificate says that they are kept', async () => {
  const live = { deletionRows: 'always', ghostShare: 0, ghostRun: 0 } as const;
  const world = await openErasureWorld(5, [], { profile: 'live', live });
  const uuid = world.create([name], { email: name });
  await world.sync();
  const keeping = await world.request([{ kind: 'uuid', value: uuid }], undefined, false);
  const deleting = await world.request([{ kind: 'email', value: name }]);
  for (let step = 0; step < 4 * 14; step += 1) {
    await world.reconcile();
    world.pass(0.25);
  }
  expect(await problemsOf(world)).toEqual([]);
  const results = [...keeping, ...deleting].map(
    ({ id }) => listTargets(world.db(), id).find(({ target }) => target === 'upstream.events')?.result,
  );
  expect(results).toEqual(['confirmed', 'confirmed']);
});

it('of many requests for one person, none ends before the events of the one that deletes them', async () => {
  const world = await openErasureWorld(5, [
    { path: 'erasure.maxBatch', value: 100 },
    { path: 'budget.concurrency', value: 1 },
  ]);
  const given = Array.from({ length: 24 }, (_, nth) => ({ kind: 'distinct_id', value: `many-${nth}` }) as const);
  for (const person of [0, 8, 16]) world.create(given.slice(person, person + 8).map(({ value }) => value));
  await world.sync();
  // The first are asked for first; the ids of the others stand before theirs or behind.
  const isFirst = (nth: number): boolean => nth % 8 === 0;
  await world.request(given.filter((_each, nth) => isFirst(nth)));
  await world.request(given.filter((_each, nth) => !isFirst(nth)));
  await world.reconcile();
  await world.reconcile();
  const openNow = (): number => listRequests(world.db(), 'open').length;
  expect(openNow()).toBe(24);
  world.pass(14);
  await world.reconcile();
  expect(openNow()).toBe(0);
});
