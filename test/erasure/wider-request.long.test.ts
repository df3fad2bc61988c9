import { describe, expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/ledger.ts';
import { listRequests } from '../../src/mirror/erasure-requests.ts';
import { listTargets } from '../../src/mirror/erasure-targets.ts';
import type { GivenIdentifier } from '../../src/erasure/request/box.ts';
import { anyOperation } from '../kill/kill-point.ts';
import { openKnownWorld, type ErasureWorld } from './erasure-world.ts';
import { reuseDuckDb } from '../snapshot/one-duckdb.ts';

reuseDuckDb();

const name = 'wider-canary';

async function worldWithCanary(): Promise<{ world: ErasureWorld; given: GivenIdentifier[] }> {
  const { world, given } = await openKnownWorld(name);
  world.sandbox.store.events.add({ distinctId: name, event: 'x', atMs: world.sandbox.clock.now() });
  return { world, given };
}

const eventsLeft = ({ sandbox }: ErasureWorld): number => sandbox.store.events.count(name);
/** How each request ended for the events, oldest first. */
const eventsOf = ({ db }: ErasureWorld): (string | null | undefined)[] =>
  listRequests(db(), 'all').map(
    ({ id }) => listTargets(db(), id).find(({ target }) => target === 'upstream.events')?.result,
  );

describe('a second request for somebody who is known by the same identifier', () => {
  it('is one of its own where it deletes the events that the first keeps, and deletes them', async () => {
    const { world, given } = await worldWithCanary();
    expect(await world.request(given, undefined, false)).toMatchObject([{ isKnown: false }]);
    world.pass(1);
    expect(await world.request(given)).toMatchObject([{ isKnown: false, state: 'scoped', persons: 1 }]);
    await world.reconcileToTheEnd();
    expect(eventsLeft(world)).toBe(0);
    expect(eventsOf(world)).toEqual(['not_verifiable', 'not_verifiable']);
    const certified = [...readLedger(world.dataDir).entries()].filter(({ type }) => type === 'certified');
    expect(certified).toHaveLength(2);
  });

  it('is known where it asks for no more, whichever of them came first', async () => {
    const { world, given } = await worldWithCanary();
    const [narrow] = await world.request(given, undefined, false);
    expect(await world.request(given, undefined, false)).toMatchObject([{ id: narrow?.id, isKnown: true }]);
    world.pass(1);
    const [wide] = await world.request(given);
    for (const deleteEvents of [true, false])
      expect(await world.request(given, undefined, deleteEvents)).toMatchObject([{ id: wide?.id, isKnown: true }]);
    expect(listRequests(world.db(), 'all')).toHaveLength(2);
  });

  it('is one of its own even where the first has erased whoever was known by it', async () => {
    const { world, given } = await worldWithCanary();
    await world.request(given, undefined, false);
    // The first calls probe what the service offers. Deleted there and here, and killed before the service was asked whether it is done.
    const answered = { operation: anyOperation.http, nth: 12, moment: 'before' } as const;
    expect(await world.reconcile(answered)).toBeUndefined();
    expect(world.living()).not.toContain(given[0]?.value);
    expect(listRequests(world.db(), 'open')).toHaveLength(1);
    expect(await world.request(given)).toMatchObject([{ isKnown: false, state: 'scoped' }]);
    await world.reconcile();
    expect(new Set(eventsOf(world))).toEqual(new Set(['kept', 'not_queued']));
  });
});
