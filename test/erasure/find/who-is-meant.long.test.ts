import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/core/errors.ts';
import type { TransportResponse } from '../../../src/client/transport.ts';
import { approveRequest } from '../../../src/erasure/receive.ts';
import type { GivenIdentifier } from '../../../src/erasure/request/box.ts';
import { ledgerFolder } from '../../../src/ledger/entry-file.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { listRequests } from '../../../src/mirror/erasure-requests.ts';
import { readProjectCondition } from '../../../src/worker/read-project.ts';
import { openErasureWorld, type ErasureWorld } from '../erasure-world.ts';
import { reuseDuckDb } from '../../snapshot/one-duckdb.ts';

reuseDuckDb();

const mirrored = ({ db }: ErasureWorld): string[] => db().prepare<[], string>(`SELECT uuid FROM persons`).pluck().all();

describe('a request by a distinct id that the mirror has with its owner of before', () => {
  const device: GivenIdentifier = { kind: 'distinct_id', value: 'canary-device' };

  it('leaves that owner alone after a split, and waits for somebody', async () => {
    const world = await openErasureWorld(5);
    const ann = world.create(['canary-ann', 'canary-device']);
    await world.sync();
    const { created } = world.sandbox.act({ do: 'split', uuid: ann });
    const [other = ''] = created;
    expect(await world.request([device])).toMatchObject([{ state: 'held', reason: 'shared_identifier' }]);
    await world.reconcile();
    expect(world.living()).toEqual(expect.arrayContaining([ann, other]));
    await world.sync();
    await world.approveHeld();
    await world.reconcile();
    expect(world.living()).toContain(ann);
    expect(world.living()).not.toContain(other);
    expect(mirrored(world)).toContain(ann);
    expect(mirrored(world)).not.toContain(other);
  });

  it('erases that owner too who was merged into the one who has it now', async () => {
    const world = await openErasureWorld(5);
    const survivor = world.create(['canary-ann']);
    const loser = world.create(['canary-device']);
    await world.sync();
    world.sandbox.act({ do: 'merge', loser, survivor });
    expect(await world.request([device])).toMatchObject([{ state: 'scoped', reason: null }]);
    expect(await world.reconcile()).toMatchObject({ erasure: { verified: 1 } });
    for (const uuid of [survivor, loser]) {
      expect(world.living()).not.toContain(uuid);
      expect(mirrored(world)).not.toContain(uuid);
    }
  });
});

describe('an address that two people carry', () => {
  const ann: GivenIdentifier = { kind: 'email', value: 'canary-ann@x.example' };
  it.each([
    ['by the service', ann.value, false],
    ['by the mirror, where the service goes by the letter', 'Canary-Ann@X.example', true],
  ])('is held when they are known %s, and erases both on somebody’s word alone', async (_who, email, isSynced) => {
    const world = await openErasureWorld(5);
    const uuids = [ann.value, email].map((each, index) => world.create([`canary-${index}`], { email: each }));
    if (isSynced) await world.sync();
    expect(await world.request([ann])).toMatchObject([{ state: 'held', reason: 'several_persons', persons: 2 }]);
    expect(listRequests(world.db(), 'open')).toMatchObject([{ persons: 2 }]);
    await world.reconcile();
    expect(listRequests(world.db(), 'all')).toMatchObject([{ state: 'held', reason: 'several_persons' }]);
    expect(world.living()).toEqual(expect.arrayContaining(uuids));
    await world.approveHeld();
    await world.reconcile();
    expect(world.living().filter((uuid) => uuids.includes(uuid))).toEqual([]);
    await world.sync();
    expect(mirrored(world).filter((uuid) => uuids.includes(uuid))).toEqual([]);
  });

  it('is held again where a third person carries it by the time of the reconciliation: the approval was of two', async () => {
    const world = await openErasureWorld(5);
    const uuids = [1, 2].map((each) => world.create([`canary-${each}`], { email: ann.value }));
    await world.sync();
    await world.request([ann]);
    await world.approveHeld();
    const third = world.create(['canary-3'], { email: ann.value });
    await world.sync();
    await world.reconcile();
    expect(listRequests(world.db(), 'all')).toMatchObject([{ state: 'held', reason: 'several_persons', persons: 3 }]);
    expect(world.living()).toEqual(expect.arrayContaining([...uuids, third]));
    expect(verifyLedger({ folder: ledgerFolder(world.dataDir) }).problems).toEqual([]);
    await world.approveHeld();
    await world.reconcile();
    expect(world.living().filter((uuid) => [...uuids, third].includes(uuid))).toEqual([]);
    expect(verifyLedger({ folder: ledgerFolder(world.dataDir) }).problems).toEqual([]);
  });

  it('is fenced for nobody before the service was asked who has it', async () => {
    const world = await openErasureWorld(5);
    const uuids = [world.create(['canary-1'], { email: ann.value })];
    await world.sync();
    uuids.push(world.create(['canary-2'], { email: ann.value }));
    world.intercept(() => Promise.reject(new AppError('no answer', { code: 'unreachable' })));
    expect(await world.request([ann])).toMatchObject([{ state: 'received', waitsFor: 'service_unreachable' }]);
    await world.reconcile();
    expect(mirrored(world)).toContain(uuids[0]);
    expect(readProjectCondition(world.db(), { name: 'shop', ...world.settings }, Date.now())).toMatchObject({
      attentionRequests: 1,
    });
    world.intercept((_asked, send) => send());
    await world.sync();
    await world.reconcile();
    expect(listRequests(world.db(), 'all')).toMatchObject([{ state: 'held', reason: 'several_persons', persons: 2 }]);
    expect(mirrored(world)).toEqual(expect.arrayContaining(uuids));
  });

  it.each([
    ['has another address', 'canary-new@x.example'],
    ['is deleted at the service', null],
  ])('is that of a person who %s before the service answers', async (_what, address) => {
    const world = await openErasureWorld(5);
    const uuid = world.create(['canary-1'], { email: ann.value });
    await world.sync();
    const change = async (send: () => Promise<TransportResponse>): Promise<TransportResponse> => {
      const shown = await send();
      return { ...shown, bytes: Buffer.from(shown.bytes.toString().replaceAll(ann.value, address ?? ann.value)) };
    };
    const refusal = new AppError('no answer', { code: 'unreachable' });
    world.intercept(({ path }, send) => (path.includes('email=') ? Promise.reject(refusal) : send()));
    const [added] = await world.request([ann]);
    expect(added).toMatchObject({ state: 'received', persons: 1 });
    if (address === null) world.sandbox.act({ do: 'delete', uuid });
    world.intercept(({ path }, send) => (path.includes('email=') ? Promise.reject(refusal) : change(send)));
    for (const _pass of [1, 2, 3]) {
      await world.sync();
      await world.reconcile();
      world.pass(1);
    }
    expect(mirrored(world).includes(uuid)).toBe(address !== null);
    const answerNobody = async (send: () => Promise<TransportResponse>): Promise<TransportResponse> => {
      const body = { count: 0, next: null, previous: null, results: [] };
      return { ...(await send()), bytes: Buffer.from(JSON.stringify(body)) };
    };
    world.intercept(({ path }, send) => (path.includes('email=') ? answerNobody(send) : change(send)));
    await world.reconcileToTheEnd();
    expect(listRequests(world.db(), 'all').find(({ id }) => id === added?.id)).toMatchObject({ state: 'sealed' });
    expect(world.living()).not.toContain(uuid);
    expect(mirrored(world)).not.toContain(uuid);
  });

  it.each(['in one list', 'one after the other'])('are asked for in each spelling that is given, %s', async (how) => {
    const world = await openErasureWorld(5);
    const other: GivenIdentifier = { kind: 'email', value: 'Canary-Ann@x.example' };
    const uuids = [ann, other].map(({ value }, index) => world.create([`canary-${index}`], { email: value }));
    if (how === 'one after the other') await world.request([ann]);
    const added = await world.request(how === 'in one list' ? [ann, other] : [other]);
    expect(added.at(-1)).toMatchObject({ isKnown: true, state: 'held', reason: 'several_persons', persons: 2 });
    await world.approveHeld();
    await world.reconcileToTheEnd();
    for (const uuid of uuids) expect(world.living()).not.toContain(uuid);
    expect(verifyLedger({ folder: ledgerFolder(world.dataDir) }).problems).toEqual([]);
  });

  it('are asked for in each spelling that one list gives, also where an earlier request by it is fenced', async () => {
    const world = await openErasureWorld(5);
    const other: GivenIdentifier = { kind: 'email', value: 'Canary-Ann@x.example' };
    const last: GivenIdentifier = { kind: 'email', value: 'canary-ANN@x.example' };
    world.create(['canary-0'], { email: ann.value });
    await world.request([ann]);
    await world.reconcile();
    const uuid = world.create(['canary-1'], { email: other.value });
    await world.request([other, last]);
    await world.approveHeld();
    await world.reconcileToTheEnd();
    expect(world.living()).not.toContain(uuid);
  });

  it('are asked for in the spelling with which a request is opened again for somebody who came back', async () => {
    const world = await openErasureWorld(5, [
      { path: 'deletions.confirmations', value: 2 },
      { path: 'deletions.confirmAfterSeconds', value: 600 },
    ]);
    const other: GivenIdentifier = { kind: 'email', value: 'Canary-Ann@x.example' };
    const uuid = world.create(['canary-0'], { email: ann.value });
    await world.request([ann]);
    await world.reconcile();
    world.sandbox.act({ do: 'resurrect', uuid });
    world.pass(1);
    await world.reconcile();
    const others = world.create(['canary-1'], { email: other.value });
    const [added] = await world.request([other]);
    expect(added).toMatchObject({ isKnown: true, persons: 2 });
    await world.reconcileToTheEnd();
    expect(world.living()).not.toContain(others);
  });

  it('makes neither of them the subject of another’s request', async () => {
    const world = await openErasureWorld(5);
    const first = world.create(['canary-first', 'canary-shared'], { email: ann.value });
    await world.syncAndPublish();
    world.sandbox.act({ do: 'split', uuid: first });
    await world.sync();
    world.create(['canary-second'], { email: ann.value });
    const shared: GivenIdentifier = { kind: 'distinct_id', value: 'canary-shared' };
    expect(await world.request([ann, shared])).toMatchObject([
      { reason: 'several_persons' },
      { reason: 'shared_identifier' },
    ]);
  });
});

describe('a person who signs up again while the request waits for the service, and asks again', () => {
  it.each<[GivenIdentifier, string, boolean]>([
    [{ kind: 'email', value: 'canary-ann@x.example' }, 'canary-other', true],
    // The fence keeps this one out of the mirror: only the service has the person.
    [{ kind: 'distinct_id', value: 'canary-ann' }, 'canary-ann', false],
  ])('by %j is erased by a request of its own', async (given, distinctId, isMirrored) => {
    const world = await openErasureWorld(5);
    const properties = { email: 'canary-ann@x.example' };
    const first = world.create(['canary-ann'], properties);
    await world.sync();
    const [request] = await world.request([given]);
    await world.reconcile();
    expect(listRequests(world.db(), 'open')).toMatchObject([{ state: 'awaiting_upstream' }]);
    expect(await world.request([given])).toMatchObject([{ id: request?.id, isKnown: true }]);
    world.pass(1);
    const second = world.create([distinctId], properties);
    await world.sync();
    expect(mirrored(world).includes(second)).toBe(isMirrored);
    const again = await world.request([given, given]);
    expect(again).toMatchObject([
      { isKnown: false, state: 'scoped' },
      { isKnown: true, state: 'scoped' },
    ]);
    expect(new Set([request?.id, ...again.map(({ id }) => id)]).size).toBe(2);
    await world.reconcile();
    expect(await world.request([given])).toMatchObject([{ isKnown: true, id: again[0]?.id }]);
    await world.sync();
    for (const uuid of [first, second]) {
      expect(world.living()).not.toContain(uuid);
      expect(mirrored(world)).not.toContain(uuid);
    }
    expect(verifyLedger({ folder: ledgerFolder(world.dataDir) }).problems).toEqual([]);
  });
});

describe('two persons who have shared a distinct id, and have both asked', () => {
  const uuid = (value: string): GivenIdentifier => ({ kind: 'uuid', value });

  it('the one whose request is held stays, also where the other one is approved', async () => {
    const world = await openErasureWorld(5);
    const ann = world.create(['canary-ann', 'canary-bob', 'canary-cleo']);
    await world.syncAndPublish();
    const { created } = world.sandbox.act({ do: 'split', uuid: ann });
    const [bob = '', cleo = ''] = created;
    await world.sync();
    const [ofAnn] = await world.request([uuid(ann)]);
    expect([ofAnn, ...(await world.request([uuid(bob)]))]).toMatchObject([{ state: 'held' }, { state: 'held' }]);
    await world.erase((job) => approveRequest(job, ofAnn?.id ?? ''));
    await world.reconcile();
    expect(world.living()).not.toContain(ann);
    expect(world.living()).toEqual(expect.arrayContaining([bob, cleo]));
    expect(mirrored(world)).toEqual(expect.arrayContaining([bob, cleo]));
    expect(listRequests(world.db(), 'open').filter(({ state }) => state === 'held')).toHaveLength(1);
  });
});

it('an integer id from before a person came back names that person', async () => {
  const world = await openErasureWorld(5);
  const ann = world.create(['canary-ann']);
  const { id } = [...world.sandbox.living()].find((one) => one.uuid === ann) ?? {};
  await world.syncAndPublish();
  world.sandbox.act({ do: 'delete', uuid: ann });
  world.sandbox.act({ do: 'resurrect', uuid: ann });
  await world.sync();
  expect(await world.request([{ kind: 'id', value: String(id) }])).toMatchObject([{ state: 'scoped', persons: 1 }]);
  expect(await world.reconcile()).toMatchObject({ erasure: { verified: 1 } });
  expect(world.living()).not.toContain(ann);
  expect(mirrored(world)).not.toContain(ann);
});

it('who came back after a deletion, and is hidden from lists, is found by a distinct id, and deleted there', async () => {
  const live = { hidesReturned: true, ghostShare: 0, ghostRun: 0 };
  const world = await openErasureWorld(5, [], { profile: 'live', live });
  const uuid = world.create(['back'], {});
  world.sandbox.act({ do: 'delete', uuid });
  world.sandbox.act({ do: 'resurrect', uuid });
  await world.sync();
  const [added] = await world.request([{ kind: 'distinct_id', value: 'back' }]);
  expect(added).toMatchObject({ state: 'scoped', persons: 1 });
  await world.reconcileToTheEnd();
  expect(world.living()).not.toContain(uuid);
});
