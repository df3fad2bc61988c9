import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { collected } from '../../src/erasure/plan.ts';
import { listRequests } from '../../src/mirror/erasure-requests.ts';
import { openErasureWorld, type ErasureWorld } from './erasure-world.ts';
import { answer } from './upstream/upstream-world.ts';

const hour = 3_600_000;
const [beginMs, collectMs] = [Date.UTC(2026, 0, 1), 24 * hour];

type Request = Parameters<typeof collected>[0][number];
const request = (changed: Partial<Request>): Request =>
  ({
    id: JSON.stringify(changed),
    origin: 'upstream',
    state: 'received',
    receivedAt: new Date(beginMs).toISOString(),
    fencedAt: null,
    verifiedAt: null,
    waitsFor: null,
    ...changed,
  }) as Request;

describe('a deletion at the service', () => {
  const unasked = request({});
  const at = '2026-01-01T00:00:00.000Z';
  const later = (hours: number, ...others: Request[]): Request[] =>
    collected([unasked, ...others], beginMs + hours * hour, collectMs);

  it('waits for others, but not for longer than is set, whichever way the clock was set', () => {
    expect(later(23)).toEqual([unasked]);
    expect(later(24)).toEqual([]);
    expect(later(-23)).toEqual([unasked]);
    expect(later(-24)).toEqual([]);
    expect(collected([unasked], beginMs, 0)).toEqual([]);
  });

  it('is taken along by the first of them, and by a request of a person that goes on', () => {
    expect(later(1, request({ receivedAt: new Date(beginMs - 23 * hour).toISOString() }))).toEqual([]);
    expect(later(1, request({ origin: 'manual', state: 'scoped' }))).toEqual([]);
    expect(later(1, request({ origin: 'restore' }))).toEqual([]);
    expect(later(1, request({ origin: 'manual', fencedAt: at }))).toEqual([]);
  });

  it('is not taken along by one that is held, waits, or is at the service only', () => {
    for (const stays of [{ state: 'held' }, { waitsFor: 'no_service' }, { fencedAt: at, verifiedAt: at }] as const)
      expect(later(1, request({ origin: 'manual', ...stays }))).toEqual([unasked]);
  });

  it('does not wait for others while it is held, and takes none along', () => {
    const held = request({ state: 'held' });
    expect(later(1, held)).toEqual([unasked]);
    expect(later(1, request({ state: 'held', receivedAt: new Date(beginMs - 99 * hour).toISOString() }))).toEqual([
      unasked,
    ]);
  });
});

/** A world in which the service has deleted one of those who are published, and has confirmed it. */
async function openDeleted(): Promise<{ world: ErasureWorld; uuid: string; asked: string }> {
  const world = await openErasureWorld(5, [{ path: 'deletions.collectHours', value: 24 }]);
  const [uuid, asked] = ['first', 'second'].map((name) => world.create([name], { email: name })) as [string, string];
  await world.syncAndPublish();
  world.sandbox.act({ do: 'delete', uuid });
  await world.sync();
  expect(await world.reconcile()).toMatchObject({ erasure: { fenced: 0, collected: 1 } });
  return { world, uuid, asked };
}

const statesIn = (world: ErasureWorld): string[] => listRequests(world.db(), 'all').map(({ state }) => state);

it('the mirror loses at once who was deleted at the service, and published files a day later', async () => {
  const { world, uuid } = await openDeleted();
  const mirrored = world.db().prepare('SELECT count(*) FROM persons WHERE uuid = ?').pluck();
  expect(mirrored.get(uuid)).toBe(0);
  world.pass(0.5);
  expect(await world.reconcile()).toMatchObject({ erasure: { filesRewritten: 0, waiting: 0, collected: 1 } });
  expect(statesIn(world)).toEqual(['received']);
  world.pass(0.6);
  const erasure = (await world.reconcile())?.erasure;
  expect(erasure).toMatchObject({ fenced: 1, verified: 1, residue: 0, collected: 0 });
  expect(erasure?.filesRewritten).toBeGreaterThan(0);
  // Nothing was shown that could be found, so nothing is said of a search that finds nothing.
  const ended = world.db().prepare(`SELECT DISTINCT assurance FROM erasure_targets WHERE target = 'mirror'`).pluck();
  expect(ended.all()).toEqual(['observed']);
});

it('a request of a person does not wait, and takes along who was deleted at the service', async () => {
  const { world, asked } = await openDeleted();
  await world.request([{ kind: 'uuid', value: asked }]);
  expect(await world.reconcile()).toMatchObject({ erasure: { fenced: 2, verified: 2, residue: 0, collected: 0 } });
});

describe('a deletion at the service that has waited is asked for once more', () => {
  const isMirrored = (world: ErasureWorld, uuid: string): boolean =>
    world.db().prepare('SELECT 1 FROM persons WHERE uuid = ?').get(uuid) !== undefined;
  const givenUp = { listedAgain: { letIn: 1 }, erasure: { fenced: 0, collected: 0 } };

  it('who is there again by then stays, whatever integer id the person has', async () => {
    const { world, uuid } = await openDeleted();
    world.sandbox.act({ do: 'resurrect', uuid });
    world.pass(1.1);
    expect(await world.reconcile()).toMatchObject(givenUp);
    expect(statesIn(world)).toEqual(['cancelled']);
    await world.sync();
    expect(isMirrored(world, uuid)).toBe(true);
  });

  it('who was there again, and was merged into an older person, is that person', async () => {
    const { world, uuid, asked } = await openDeleted();
    world.sandbox.act({ do: 'resurrect', uuid });
    world.sandbox.act({ do: 'merge', loser: uuid, survivor: asked });
    world.pass(1.1);
    expect(await world.reconcile()).toMatchObject(givenUp);
  });

  it('a new person with the distinct id of a deleted one keeps nothing of the deleted one here', async () => {
    const { world } = await openDeleted();
    world.pass(1.1);
    world.create(['first'], {});
    expect(await world.reconcile()).toMatchObject({ listedAgain: { letIn: 0 }, erasure: { fenced: 1, verified: 1 } });
  });

  it('a recording that is there again stays', async () => {
    const world = await openErasureWorld(5, [{ path: 'deletions.collectHours', value: 24 }]);
    await world.syncAndPublish();
    const ids = world.db().prepare('SELECT id FROM recordings ORDER BY start_time DESC').pluck();
    const [id = ''] = ids.all() as string[];
    world.intercept(async (asked, send) => {
      if (asked.path.includes(id)) return answer(404);
      const reply = await send();
      if (!asked.path.includes('/session_recordings/?')) return reply;
      const page = JSON.parse(reply.bytes.toString()) as { count: number; results: { id: string }[] };
      const shown = { ...page, count: page.count - 1, results: page.results.filter((row) => row.id !== id) };
      return { ...reply, bytes: Buffer.from(JSON.stringify(shown)) };
    });
    await world.sync();
    expect(await world.reconcile()).toMatchObject({ erasure: { fenced: 0, collected: 1 } });
    expect(ids.all()).not.toContain(id);
    world.intercept((_asked, send) => send());
    world.pass(1.1);
    expect(await world.reconcile()).toMatchObject(givenUp);
    await world.sync();
    expect(ids.all()).toContain(id);
  });

  it('waits while the service does not answer, or denies whom it lists', async () => {
    const { world, uuid } = await openDeleted();
    world.pass(1.1);
    world.intercept((asked, send) => (/persons\/\d/.test(asked.path) ? Promise.resolve(answer(404)) : send()));
    expect(await world.reconcile()).toMatchObject({ outcome: 'held', erasure: { fenced: 0, attention: 1 } });
    expect(listRequests(world.db(), 'all')).toMatchObject([{ state: 'received', waitsFor: 'service_unusable' }]);
    world.intercept(() => Promise.reject(new AppError('down', { code: 'unreachable' })));
    expect(await world.reconcile()).toMatchObject({ outcome: 'held', erasure: { fenced: 0, attention: 1 } });
    expect(listRequests(world.db(), 'all')).toMatchObject([{ state: 'received', waitsFor: 'service_unreachable' }]);
    world.intercept((_asked, send) => send());
    expect(await world.reconcile()).toMatchObject({ outcome: 'done', erasure: { fenced: 1, verified: 1 } });
    expect(listRequests(world.db(), 'all')).toMatchObject([{ waitsFor: null }]);
    expect(isMirrored(world, uuid)).toBe(false);
  });
});
