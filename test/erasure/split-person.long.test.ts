import { expect, it } from 'vitest';
import { approveRequest } from '../../src/erasure/receive.ts';
import { heldBecauseOf } from '../../src/erasure/request/box.ts';
import { listRequests } from '../../src/mirror/erasure-requests.ts';
import { whereIs } from '../../src/erasure/find/where.ts';
import { openErasureWorld } from './erasure-world.ts';
import { findTexts } from './find-texts.ts';
import { insert } from './scan/canary.ts';
import { reuseDuckDb } from '../snapshot/one-duckdb.ts';

reuseDuckDb();

/** A person that was split after the last sync, and whose request has met the other half. */
async function worldWithSplit() {
  const world = await openErasureWorld(5);
  const uuid = world.create(['half-main', 'half-other']);
  await world.syncAndPublish();
  world.sandbox.act({ do: 'split', uuid });
  const half = [...world.sandbox.living()].find(({ distinct_ids: ids }) => ids.includes('half-other'))?.uuid ?? '';
  await world.request([{ kind: 'uuid', value: uuid }]);
  expect(await world.reconcile()).toMatchObject({ outcome: 'held', erasure: { attention: 1, sealed: 0 } });
  const requestNow = () => {
    const [request] = listRequests(world.db(), 'all');
    if (!request) throw new Error('no request');
    return { ...request, held: heldBecauseOf({ db: world.db(), settings: world.settings }, request) };
  };
  expect(requestNow()).toMatchObject({ reason: 'distinct_id_elsewhere', held: { sharedWith: [half] } });
  const approve = () => world.erase((job) => approveRequest(job, requestNow().id));
  const isThere = (one: string): boolean => world.living().includes(one);
  return { world, uuid, half, requestNow, approve, isThere };
}

it('a request for a person that was split ends once the half that it names is added, too', async () => {
  const { world, uuid, half, requestNow, isThere } = await worldWithSplit();
  expect([...(await findTexts(world.dataDir, [half])).values()].flat()).toEqual([]);
  await world.sync();
  await world.request([{ kind: 'uuid', value: half }]);
  for (let round = 0; round < 3; round += 1) await world.reconcile();
  expect([isThere(uuid), isThere(half)]).toEqual([false, false]);
  expect(requestNow()).toMatchObject({ state: 'awaiting_upstream', held: { sharedWith: [] } });
});

it('or once an operator leaves the distinct id to that one, and to nobody else', async () => {
  const { world, uuid, half, requestNow, approve, isThere } = await worldWithSplit();
  await approve();
  world.sandbox.act({ do: 'merge', loser: half, survivor: world.living()[0] ?? '' });
  await world.reconcile();
  expect([requestNow().reason, isThere(uuid)]).toEqual(['distinct_id_elsewhere', true]);
  await approve();
  await world.reconcile();
  expect([requestNow().state, isThere(uuid)]).toEqual(['awaiting_upstream', false]);
});

it('who has a distinct id now, and only a recording shows, is a living person: the request is held', async () => {
  const world = await openErasureWorld(5);
  const uuid = world.create(['ann', 'tablet']);
  await world.syncAndPublish();
  world.sandbox.act({ do: 'split', uuid });
  const half = [...world.sandbox.living()].find(({ distinct_ids: ids }) => ids.includes('tablet'))?.uuid ?? '';
  insert(world.db(), 'recordings', {
    id: 'of-the-tablet',
    distinct_id: 'tablet',
    person_uuid: half,
    person: JSON.stringify({ uuid: half, distinct_ids: ['tablet'] }),
    first_seen_pass: 1,
    changed_at: '2026-11-18T09:00:00.000Z',
  });
  expect(await world.request([{ kind: 'uuid', value: uuid }])).toMatchObject([
    { state: 'held', reason: 'shared_identifier', sharedWith: [half] },
  ]);
  await world.approveHeld();
  for (let round = 0; round < 3; round += 1) await world.reconcile();
  expect([world.living().includes(uuid), world.living().includes(half)]).toEqual([false, true]);
});

it('who has a distinct id that was another person’s before gets no row of that person in an answer', async () => {
  const world = await openErasureWorld(5);
  const uuid = world.create(['ann', 'tablet'], { diagnosis: 'ann’s secret' });
  await world.syncAndPublish();
  world.sandbox.act({ do: 'split', uuid });
  const half = [...world.sandbox.living()].find(({ distinct_ids: ids }) => ids.includes('tablet'))?.uuid ?? '';
  const bob = world.create(['bob'], { plan: 'bob’s own' });
  world.sandbox.act({ do: 'merge', loser: half, survivor: bob });
  await world.syncAndPublish();
  const { access, whereabouts } = await world.look((context) => whereIs(context, [{ kind: 'uuid', value: bob }]));
  const told = JSON.stringify(access, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  expect([told.includes('bob’s own'), told.includes('ann’s secret'), told.includes(uuid)]).toEqual([
    true,
    false,
    false,
  ]);
  const rowsOf = (dataset: string): number =>
    whereabouts.places.reduce((sum, { place, rows }) => sum + (place.includes(dataset) ? rows : 0), 0);
  expect([rowsOf('snapshots/persons'), rowsOf('snapshots/distinct_ids')]).toEqual([1, 2]);
});
