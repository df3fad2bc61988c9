import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { GivenIdentifier } from '../../../src/erasure/request/box.ts';
import { nobody } from '../../../src/contract/identity.ts';
import { prepareAdmission } from '../../../src/mirror/admit-rows.ts';
import { fencedBy } from '../../../src/mirror/fence.ts';
import { findRecordings } from '../../../src/mirror/sightings.ts';
import { prepareQuarantine } from '../../../src/mirror/quarantine.ts';
import { openErasureWorld, type ErasureWorld } from '../erasure-world.ts';
import { textsLeft } from '../find-texts.ts';
import { insert } from '../scan/canary.ts';
import { reuseDuckDb } from '../../snapshot/one-duckdb.ts';

reuseDuckDb();

const email = (value: string): GivenIdentifier => ({ kind: 'email', value });

function change(world: ErasureWorld, uuid: string, properties: object): void {
  const { id = 0 } = [...world.sandbox.living()].find((one) => one.uuid === uuid) ?? {};
  const by = { userId: 1, atMs: world.sandbox.clock.now() };
  world.sandbox.store.persons.mergeProperties(id, properties, by);
}

/** A recording of the mirror that shows a person of no uuid. */
function addNameless(world: ErasureWorld, person: object, recordedUnder: string): string {
  const id = randomUUID();
  insert(world.db(), 'recordings', {
    id,
    distinct_id: recordedUnder,
    person: JSON.stringify(person),
    start_time: '2026-11-18T08:00:00.000Z',
    first_seen_pass: 1,
    changed_at: '2026-11-18T09:00:00.000Z',
  });
  return id;
}

const holds = (world: ErasureWorld, id: string): boolean =>
  findRecordings(world.db(), { ...nobody, recording_id: [id] }).length > 0;

describe('a person is found and erased by an e-mail address that only history shows', () => {
  it.each<[string, object]>([
    ['an address that was changed', { email: 'canary-new@x.example' }],
    ['an address that was removed', { email: null }],
  ])('%s', async (_what, after) => {
    const world = await openErasureWorld(5);
    const uuid = world.create(['canary-id'], { email: 'Canary-\u00d6ld@x.example' });
    await world.syncAndPublish();
    change(world, uuid, after);
    await world.sync();
    const asked = email(' canary-o\u0308LD@x.example');
    expect(await world.request([asked])).toMatchObject([{ state: 'scoped', persons: 1, files: 2 }]);
    expect(await world.reconcile()).toMatchObject({ erasure: { verified: 1 } });
    expect(await textsLeft(world.dataDir, ['Canary-\u00d6ld', 'canary-new', 'canary-id'])).toEqual([]);
    expect(world.living()).not.toContain(uuid);
  });

  it('an address that has gone over to another person is held, and names both', async () => {
    const world = await openErasureWorld(5);
    const first = world.create(['canary-first'], { email: 'canary@x.example' });
    await world.syncAndPublish();
    change(world, first, { email: 'canary-else@x.example' });
    const second = world.create(['canary-second'], { email: 'CANARY@x.example' });
    await world.sync();
    const [added] = await world.request([email('canary@x.example')]);
    expect(added).toMatchObject({ state: 'held', reason: 'several_persons', persons: 2 });
    expect(added?.personsNamed.toSorted()).toEqual([first, second].toSorted());
    expect(await world.request([{ kind: 'uuid', value: first }])).toMatchObject([{ state: 'scoped' }]);
    await world.reconcile();
    expect(await textsLeft(world.dataDir, ['canary-first', 'canary-else'])).toEqual([]);
    expect(world.living()).toContain(second);
  });
});

it('a chain of recordings, each of one device and the next, is followed to its end', async () => {
  const world = await openErasureWorld(5);
  const uuid = world.create(['canary-0'], {});
  await world.sync();
  const chain = Array.from({ length: 20 }, (_, index) =>
    addNameless(world, { distinct_ids: [`canary-${index}`, `canary-${index + 1}`] }, `canary-own-${index}`),
  );
  await world.publish();
  expect(await world.request([{ kind: 'uuid', value: uuid }])).toMatchObject([{ state: 'scoped', recordings: 20 }]);
  expect(await world.reconcile()).toMatchObject({ erasure: { verified: 1 } });
  expect(await textsLeft(world.dataDir, ['canary-'])).toEqual([]);
  expect(chain.filter((id) => holds(world, id))).toEqual([]);
});

it('a person whose row is in quarantine is found by any of the distinct ids there, with the recordings of others', async () => {
  const world = await openErasureWorld(5);
  await world.sync();
  const uuid = randomUUID();
  const row = { uuid, id: null, name: 5, distinct_ids: ['canary-login', 'canary-device'] };
  const payload = JSON.stringify(row);
  prepareQuarantine(world.db(), 'persons').add({ key: uuid, reason: 'name', payload }, 1, '2026-11-18T09:00:00.000Z');
  const recording = addNameless(world, {}, 'canary-device');
  await world.publish();
  const given = { kind: 'distinct_id', value: 'canary-login' } as const;
  expect(await world.request([given])).toMatchObject([{ state: 'scoped', persons: 1, recordings: 1 }]);
  expect(await world.reconcile()).toMatchObject({ erasure: { verified: 1 } });
  expect(await textsLeft(world.dataDir, ['canary-'])).toEqual([]);
  expect(holds(world, recording)).toBe(false);
});

it('a recording in quarantine is deleted at the service with the others: its id is the subject’s', async () => {
  const world = await openErasureWorld(5);
  const uuid = world.create(['canary-login'], {});
  await world.sync();
  const person = { uuid, id: 5, distinct_ids: ['canary-login'] };
  const payload = JSON.stringify({ id: 'canary-odd', distinct_id: 'canary-device', recording_duration: 1.5, person });
  const row = { key: 'canary-odd', reason: 'recording_duration', payload };
  prepareQuarantine(world.db(), 'recordings').add(row, 1, '2026-11-18T09:00:00.000Z');
  await world.request([{ kind: 'uuid', value: uuid }]);
  expect(await world.reconcile()).toMatchObject({ erasure: { verified: 1 } });
  const identifiers = [
    { kind: 'recording_id', value: 'canary-odd' },
    { kind: 'distinct_id', value: 'canary-device' },
  ] as const;
  expect(identifiers.map((each) => fencedBy(world.db(), [each]).length)).toEqual([1, 1]);
});

describe('a row that shows a person without any id', () => {
  const ann = { name: 'Canary Ann', properties: { email: 'Canary-Ann@x.example', plan: 'canary-plan' } };
  const bob = { name: 'Canary Ann', properties: { email: 'canary-bob@x.example', plan: 'pro' } };

  async function openWorld(): Promise<{ world: ErasureWorld; uuid: string; ofAnn: string; ofOthers: string[] }> {
    const world = await openErasureWorld(5);
    const uuid = world.create(['canary-ann'], { email: 'canary-ann@x.example' });
    await world.sync();
    const ofAnn = addNameless(world, ann, 'anon');
    const ofOthers = [addNameless(world, bob, 'anon'), addNameless(world, { name: 'Canary Ann' }, 'anon')];
    await world.publish();
    return { world, uuid, ofAnn, ofOthers };
  }

  it.each(['uuid', 'email'] as const)('is found by its address, asked by %s, and no other row is', async (kind) => {
    const { world, uuid, ofAnn, ofOthers } = await openWorld();
    const given = kind === 'uuid' ? { kind, value: uuid } : email('canary-ann@x.example');
    expect(await world.request([given])).toMatchObject([{ state: 'scoped', persons: 1, recordings: 1 }]);
    expect(await world.reconcile()).toMatchObject({ erasure: { verified: 1 } });
    expect(await textsLeft(world.dataDir, ['canary-ann', 'Canary-Ann', 'canary-plan'])).toEqual([]);
    expect(holds(world, ofAnn)).toBe(false);
    expect(ofOthers.map((id) => holds(world, id))).toEqual([true, true]);
  });

  it('is left alone, and the request is held, where another living person has had the address', async () => {
    const { world, uuid, ofAnn } = await openWorld();
    const other = world.create(['canary-other'], { email: 'canary-ann@x.example' });
    await world.sync();
    change(world, other, { email: 'canary-other@x.example' });
    await world.publish();
    await world.sync();
    expect(await world.request([{ kind: 'uuid', value: uuid }])).toMatchObject([
      { state: 'held', reason: 'shared_identifier', personsNamed: [], sharedWith: [other] },
    ]);
    await world.approveHeld();
    await world.reconcile();
    expect(holds(world, ofAnn)).toBe(true);
  });

  it('is found in quarantine, and does not come back there', async () => {
    const world = await openErasureWorld(5);
    await world.sync();
    const payload = JSON.stringify({ uuid: null, distinct_ids: null, ...ann });
    const other = JSON.stringify({ uuid: null, distinct_ids: null, ...bob });
    const quarantine = prepareQuarantine(world.db(), 'persons');
    for (const each of [payload, other])
      quarantine.add({ key: null, reason: 'unreadable', payload: each }, 1, '2026-11-18T09:00:00.000Z');
    expect(await world.request([email('canary-ann@x.example')])).toMatchObject([{ state: 'scoped' }]);
    expect(await world.reconcile()).toMatchObject({ erasure: { verified: 1 } });
    expect(await textsLeft(world.dataDir, ['Canary-Ann', 'canary-plan'])).toEqual([]);
    const { refresh, unread } = prepareAdmission(world.db(), 'persons');
    refresh();
    expect(unread({ key: null, reason: 'unreadable', payload }, '2026-11-19T09:00:00.000Z')).toBeUndefined();
    expect(unread({ key: null, reason: 'unreadable', payload: other }, '2026-11-19T09:00:00.000Z')).toBeDefined();
  });
});
