import { expect, it } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { scanRequests } from '../../src/erasure/scan/scan-requests.ts';
import { openDatabaseReadOnly, type Database } from '../../src/mirror/database.ts';
import { listRequests } from '../../src/mirror/erasure-requests.ts';
import { readProjectCondition } from '../../src/worker/read-project.ts';
import { reuseDuckDb } from '../snapshot/one-duckdb.ts';
import { openErasureWorld, openKnownWorld, type ErasureWorld } from './erasure-world.ts';
import { answer } from './upstream/upstream-world.ts';

reuseDuckDb();

/** A world with so many persons, each with an address, whom the mirror has. */
async function openCrowd(count: number): Promise<{ world: ErasureWorld; uuids: string[] }> {
  const world = await openErasureWorld(5, [{ path: 'erasure.maxBatch', value: 100 }]);
  const uuids = Array.from({ length: count }, (_, nth) => world.create([`d${nth}`], { email: `p${nth}@x.example` }));
  await world.sync();
  return { world, uuids };
}

/** Opens the mirror as another program does that reads in it until it is closed. */
function readIn({ dataDir }: ErasureWorld): Database {
  const reader = openDatabaseReadOnly(dataDir);
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM persons').get();
  return reader;
}

/** Reconciles. Returns the code of the error that it ended with. */
async function reconcile(world: ErasureWorld): Promise<string | undefined> {
  try {
    await world.reconcile();
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
}

it('persons at whom the service always fails keep nobody else there: whom it failed at comes last the next time', async () => {
  // A control asks for some of the newest rows, by chance: none of these fails.
  const { world, uuids } = await openCrowd(54);
  const [bad, good] = [uuids.slice(0, 10), uuids.slice(10, 14)];
  for (const value of [...bad, ...good]) await world.request([{ kind: 'uuid', value }]);
  const ids = new Set(
    [...world.sandbox.living()].flatMap(({ uuid, id }) => (bad.includes(uuid) ? [uuid, String(id)] : [])),
  );
  world.intercept(({ path }, send) =>
    ids.has(path.match(/persons\/([^/?]+)/)?.[1] ?? '') ? Promise.resolve(answer(500)) : send(),
  );
  for (const _round of [1, 2]) expect(await reconcile(world)).toBe('service');
  expect(good.filter((uuid) => world.living().includes(uuid))).toEqual([]);
  // The others do not look as if they were to blame.
  const waiting = listRequests(world.db(), 'open').filter(({ waitsFor }) => waitsFor !== null);
  expect(waiting).toHaveLength(10);
});

it('an address that the service cannot be asked for keeps no other request by address from being found', async () => {
  const { world } = await openCrowd(40);
  world.intercept(({ path }, send) => (path.includes('=p0%40') ? Promise.resolve(answer(500)) : send()));
  await world.request(Array.from({ length: 40 }, (_, nth) => ({ kind: 'email', value: `p${nth}@x.example` }) as const));
  const states = listRequests(world.db(), 'open').map(({ state, waitsFor }) => [state, waitsFor]);
  expect(states.filter(([state]) => state === 'received')).toEqual([['received', 'service_unusable']]);
});

it('addresses that the service cannot be asked for, however many they are, keep no other from being asked for for ever', async () => {
  const { world } = await openCrowd(60);
  const isGood = (path: string): boolean => path.includes('=p0%40') || path.includes('=p1%40');
  const asked = new Set<string>();
  world.intercept(({ path }, send) => {
    if (!path.includes('email=')) return send();
    if (isGood(path)) asked.add(path);
    return isGood(path) ? send() : Promise.resolve(answer(500));
  });
  await world.request(Array.from({ length: 60 }, (_, nth) => ({ kind: 'email', value: `p${nth}@x.example` }) as const));
  for (let round = 0; round < 60 && asked.size < 2; round += 1) await reconcile(world);
  expect(asked.size).toBe(2);
});

it('a reader that keeps the identifiers of a done request from being destroyed is told of, until it ends', async () => {
  const { world, uuids } = await openCrowd(1);
  await world.request([{ kind: 'uuid', value: uuids[0] ?? '' }]);
  await world.reconcile();
  const reader = readIn(world);
  world.pass(14);
  expect((await world.reconcile())?.erasure).toMatchObject({ certified: 1, sealed: 0, attention: 0 });
  expect((await world.reconcile())?.erasure).toMatchObject({ certified: 0, sealed: 0, attention: 1 });
  const { attentionRequests } = readProjectCondition(
    world.db(),
    { name: 'shop', ...world.settings },
    world.clock.now(),
  );
  expect([world.onlyRequest().waitsFor, attentionRequests]).toEqual(['mirror_is_read', 1]);
  reader.close();
  expect((await world.reconcile())?.erasure).toMatchObject({ sealed: 1, attention: 0 });
  expect(world.onlyRequest()).toMatchObject({ state: 'sealed', waitsFor: null });
});

it('a deletion at the service that a reader kept from its end, and that residue opens again, is erased once more', async () => {
  const { world, uuid } = await openKnownWorld('kept@x.example');
  world.sandbox.act({ do: 'delete', uuid });
  await world.sync();
  let reader: Database | undefined;
  world.intercept((_asked, send) => {
    // After the purge, and before the identifiers are destroyed.
    if (listRequests(world.db(), 'all')[0]?.verifiedAt) reader ??= readIn(world);
    return send();
  });
  for (const _round of [1, 2]) await world.reconcile();
  expect(world.onlyRequest()).toMatchObject({ state: 'certified', waitsFor: 'mirror_is_read' });
  reader?.close();
  const columns = 'uuid, name, created_at, properties, first_seen_pass, changed_at';
  world.db().prepare(`INSERT INTO persons (${columns}) VALUES (?, '', '', '{}', 1, '')`).run(uuid);
  await world.erase((job) => scanRequests(job, [], []));
  await world.reconcile();
  expect(world.onlyRequest()).toMatchObject({ state: 'sealed', generation: 2 });
  expect(world.db().prepare('SELECT 1 FROM persons WHERE uuid = ?').get(uuid)).toBeUndefined();
});
