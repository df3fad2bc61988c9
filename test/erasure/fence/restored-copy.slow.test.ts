import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { boxOf } from '../../../src/erasure/request/box.ts';
import { readmit } from '../../../src/erasure/readmit.ts';
import { decideRequests } from '../../../src/erasure/fence/decide.ts';
import { fenceRequests } from '../../../src/erasure/fence/fence-requests.ts';
import { findUnbound } from '../../../src/erasure/bound/find-unbound.ts';
import { replayErasures } from '../../../src/erasure/fence/restore.ts';
import { openLedger, readLedger } from '../../../src/ledger/ledger.ts';
import { listRequests } from '../../../src/mirror/erasure-requests.ts';
import { readFenceUse } from '../../../src/mirror/fence.ts';
import { problemsOf } from '../bound/bound-world.ts';
import { insert } from '../scan/canary.ts';
import { jobContext } from '../../job/job-context.ts';
import { openErasureWorld, openKnownWorld, type ErasureWorld } from '../erasure-world.ts';
import { findTexts } from '../find-texts.ts';

const name = 'restored-canary@x.example';

const requests = ({ db }: ErasureWorld): [number, string][] =>
  listRequests(db(), 'all').map(({ generation, state }) => [generation, state]);
const recorded = ({ dataDir }: ErasureWorld): string[] =>
  [...readLedger(dataDir).entries()]
    .map(({ type }) => type)
    .filter((type) => type === 'reopened' || type === 'replayed');
const left = async ({ dataDir }: ErasureWorld): Promise<string[]> => (await findTexts(dataDir, [name])).get(name) ?? [];

/** A row that could not be read, and shows her distinct id. */
function quarantineHer({ db }: ErasureWorld): void {
  insert(db(), 'quarantine', {
    dataset: 'persons',
    row_id: 'q',
    reason: 'x',
    payload: JSON.stringify({ uuid: 'damaged', distinct_ids: [name] }),
    first_seen_pass: 1,
    last_seen_pass: 1,
    seen_at: 'x',
  });
}

describe('an older copy of the mirror', () => {
  it('takes part in nothing until it is brought up to date, and whoever it brought back is erased again', async () => {
    const { world, uuid } = await openKnownWorld(name);
    world.backUp();
    await world.request([{ kind: 'uuid', value: uuid }]);
    await world.reconcile();
    expect(await left(world)).toEqual([]);
    world.restore();
    expect(await left(world)).toContain('table persons');

    const refused = /older copy: it knows of 0 rounds of erasures, the ledger of 1/;
    await expect(world.sync()).rejects.toThrow(refused);
    await expect(world.publish()).rejects.toThrow(refused);
    await expect(world.request([{ kind: 'uuid', value: uuid }])).rejects.toThrow(refused);

    expect(await world.reconcile()).toMatchObject({ replayed: { requests: 1, rows: 1 }, erasure: { verified: 1 } });
    expect(await left(world)).toEqual([]);
    expect(recorded(world)).toEqual(['reopened', 'replayed']);
    expect(requests(world)[0]?.[0]).toBe(2);
    await world.syncAndPublish();
    expect(await left(world)).toEqual([]);
  });

  it('that was made before its file was purged is purged, although the ledger has the person as gone', async () => {
    const { world, uuid } = await openKnownWorld(name);
    await world.reconcile();
    await world.request([{ kind: 'uuid', value: uuid }]);
    await world.erase(async (job) => {
      const { decided } = await decideRequests(job, new Set([world.onlyRequest().id]));
      await fenceRequests(job, decided, 0);
    });
    expect(requests(world)).toEqual([[1, 'fenced']]);
    world.backUp();
    await world.reconcileToTheEnd();
    expect(requests(world)).toEqual([[1, 'sealed']]);
    world.restore();
    const owed = world.db().prepare('SELECT marked > purged FROM purge_owed').pluck();
    expect(owed.get()).toBe(1);
    await world.reconcile();
    expect(owed.get()).toBe(0);
    expect(requests(world)).toEqual([[1, 'sealed']]);
    expect(await left(world)).toEqual([]);
  });

  it('that knew the request goes on with it', async () => {
    const { world, uuid } = await openKnownWorld(name);
    await world.request([{ kind: 'uuid', value: uuid }]);
    world.backUp();
    await world.reconcile();
    world.restore();
    expect(requests(world)).toEqual([[1, 'scoped']]);
    expect(await world.reconcile()).toMatchObject({ replayed: { requests: 1 }, erasure: { verified: 1 } });
    expect(requests(world)[0]?.[0]).toBe(2);
    expect(await left(world)).toEqual([]);
  });

  it.each<[string, (world: ErasureWorld) => void]>([
    ['in quarantine', quarantineHer],
    [
      'in what another’s recording embeds',
      ({ db }) =>
        void db()
          .prepare(`UPDATE recordings SET person = ? WHERE row_key = 1`)
          .run(JSON.stringify({ distinct_ids: ['other', name] })),
    ],
  ])('is searched for those whom it holds only %s', async (_where, hide) => {
    const { world, uuid } = await openKnownWorld(name);
    await world.request([{ kind: 'uuid', value: uuid }]);
    await world.reconcile();
    // The copy is of later, but for the epoch.
    hide(world);
    world.db().exec(`UPDATE erasure_epoch SET epoch = 0`);
    expect(await left(world)).not.toEqual([]);
    expect(await world.reconcile()).toMatchObject({ replayed: { requests: 1 } });
    expect(await left(world)).toEqual([]);
  });
});

describe('an older copy that has a request open', () => {
  /** The copy is of when the request was at `stage`; then it came to its end, and the person is back at the service. */
  async function worldWithOpenCopy(stage: 'received' | 'erased here'): Promise<{ world: ErasureWorld; uuid: string }> {
    const { world, uuid } = await openKnownWorld(name);
    await world.request([{ kind: 'uuid', value: uuid }]);
    if (stage === 'received') world.backUp();
    await world.reconcile();
    if (stage === 'erased here') world.backUp();
    world.pass(14);
    await world.reconcile();
    expect(requests(world)).toEqual([[1, 'sealed']]);
    world.pass(1);
    world.sandbox.act({ do: 'resurrect', uuid });
    return { world, uuid };
  }

  it.each(['received', 'erased here'] as const)(
    'does nothing to whoever was let in again since (%s)',
    async (stage) => {
      const { world, uuid } = await worldWithOpenCopy(stage);
      const [request] = listRequests(world.db(), 'all');
      await world.erase((job) => readmit(job, [request?.id ?? ''], 'consent, TICKET-9'));
      world.restore();
      expect(await world.reconcile()).toMatchObject({ lost: [] });
      await world.sync();
      await world.reconcile();
      expect(recorded(world)).not.toContain('reopened');
      expect(requests(world)).toEqual([[1, 'sealed']]);
      expect(world.living().includes(uuid)).toBe(true);
      expect(world.db().prepare('SELECT count(*) FROM persons WHERE uuid = ?').pluck().get(uuid)).toBe(1);
    },
  );

  it('erases again here, and deletes nobody at the service who has come back since', async () => {
    const { world, uuid } = await worldWithOpenCopy('received');
    world.restore();
    await world.reconcile();
    // By the ledger, the service had the person no more: it is not asked again.
    expect(requests(world)).toEqual([[2, 'sealed']]);
    expect(world.living().includes(uuid)).toBe(true);
    expect(await left(world)).toEqual([]);
  });
});

describe('an older copy of before the erasure of somebody who was let in again since', () => {
  /** The copy shows her in a recording, too, that had left the mirror before she was erased. The service does not have her. */
  async function worldWithOlderCopy(): Promise<{ world: ErasureWorld; uuid: string }> {
    const { world, uuid } = await openKnownWorld(name);
    const change = `UPDATE recordings SET id = 'left-before', distinct_id = ?, person_uuid = ?, person = ? WHERE row_key = 1`;
    world
      .db()
      .prepare(change)
      .run(name, uuid, JSON.stringify({ uuid, name, distinct_ids: [name] }));
    quarantineHer(world);
    world.backUp();
    world.db().exec(`DELETE FROM recordings WHERE id = 'left-before'`);
    await world.request([{ kind: 'uuid', value: uuid }]);
    await world.reconcileToTheEnd();
    await world.erase((job) => readmit(job, [world.onlyRequest().id], 'consent, TICKET-9'));
    expect(await left(world)).toEqual([]);
    world.restore();
    const places = ['table persons', 'table recordings', 'table quarantine'];
    expect(await left(world)).toEqual(expect.arrayContaining(places));
    return { world, uuid };
  }

  it('loses what the erasure had removed, and nobody is kept out', async () => {
    const { world, uuid } = await worldWithOlderCopy();
    expect(await world.reconcile()).toMatchObject({ outcome: 'done', replayed: { requests: 1, rows: 2 } });
    expect(await left(world)).toEqual([]);
    expect(requests(world)).toEqual([[1, 'sealed']]);
    expect(recorded(world)).toEqual(['replayed']);
    expect(readFenceUse(world.db(), world.onlyRequest().id).entries).toBe(0);
    await world.syncAndPublish();
    expect(await left(world)).toEqual([]);
    expect(await problemsOf(world)).toEqual([]);
    world.sandbox.act({ do: 'resurrect', uuid });
    await world.syncAndPublish();
    expect(await left(world)).toContain('table persons');
  });

  it('loses it also where a run ended while the copy was searched', async () => {
    const { world } = await worldWithOlderCopy();
    const { settings, clock } = world;
    const context = jobContext({ db: world.db(), settings, clock }, { signal: AbortSignal.abort() });
    await expect(findUnbound(context)).rejects.toThrow('aborted');
    expect(readFenceUse(world.db(), world.onlyRequest().id).entries).toBeGreaterThan(0);
    expect(await world.reconcile()).toMatchObject({ replayed: { requests: 1, rows: 2 } });
    expect(await left(world)).toEqual([]);
    expect(readFenceUse(world.db(), world.onlyRequest().id).entries).toBe(0);
    expect(await problemsOf(world)).toEqual([]);
  });

  it('is refused without the restore key, although nobody is fenced', async () => {
    const { world } = await worldWithOlderCopy();
    rmSync(join(world.dataDir, 'restore.key'));
    await expect(world.reconcile()).rejects.toThrow('restore.key is missing');
  });
});

it('an older copy keeps who was let in again and mirrored anew before it was made', async () => {
  const { world, uuid } = await openKnownWorld(name);
  await world.request([{ kind: 'uuid', value: uuid }]);
  await world.reconcileToTheEnd();
  await world.erase((job) => readmit(job, [world.onlyRequest().id], 'consent, TICKET-9'));
  world.sandbox.act({ do: 'resurrect', uuid });
  await world.sync();
  world.backUp();
  const other = world.living().find((each) => each !== uuid) ?? '';
  await world.request([{ kind: 'uuid', value: other }]);
  await world.reconcile();
  world.restore();
  expect(await world.reconcile()).toMatchObject({ replayed: { requests: 1 } });
  const persons = world.db().prepare('SELECT uuid FROM persons').pluck().all();
  expect(persons).toContain(uuid);
  expect(persons).not.toContain(other);
});

test('reading a whole table for those whom an older copy brought back is done once for all of them', async () => {
  const { world, uuid } = await openKnownWorld(name);
  const others = [...world.sandbox.living()].flatMap((one) => (one.uuid === uuid ? [] : [one.uuid]));
  world.backUp();
  for (const value of [uuid, ...others.slice(0, 2)]) await world.request([{ kind: 'uuid', value }]);
  await world.reconcile();
  world.restore();
  const reads = new Map<string, number>();
  const db = new Proxy(world.db(), {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]): unknown => {
        const sql = String(given[0]);
        if (property === 'prepare' && /FROM recordings|FROM quarantine/.test(sql))
          reads.set(sql, (reads.get(sql) ?? 0) + 1);
        return Reflect.apply(value, target, given);
      };
    },
  });
  const ledger = openLedger(world.dataDir, world.clock);
  const context = { ...jobContext({ db, settings: world.settings, clock: world.clock }, {}), ledger: () => ledger };
  const replayed = replayErasures(context, await findUnbound(context));
  expect(replayed).toMatchObject({ requests: 3 });
  expect(reads.size).toBeGreaterThan(2);
  // Quarantine once more than the rest: to find those who are fenced, and then what is to be released.
  expect(Math.max(...[...reads].map(([sql, times]) => times - (sql.includes('quarantine') ? 1 : 0)))).toBe(1);
  const boxes = listRequests(db, 'all').flatMap(({ id }) => boxOf({ db, settings: world.settings }, id) ?? []);
  // Each has the texts of its own person, and of nobody else.
  const withCanary = boxes.filter(({ values }) => values.join(' ').includes(name));
  expect(withCanary.map(({ identity }) => identity.person_uuid)).toEqual([[uuid]]);
  expect(await world.reconcile()).toMatchObject({ erasure: { verified: 3 } });
});

test('somebody whom two requests had erased is erased again for both', async () => {
  const { world, uuid } = await openKnownWorld(name);
  world.backUp();
  await world.request([
    { kind: 'uuid', value: uuid },
    { kind: 'distinct_id', value: name },
  ]);
  await world.reconcile();
  world.restore();
  expect(await world.reconcile()).toMatchObject({ replayed: { requests: 2 }, erasure: { verified: 2 } });
  expect(requests(world).map(([generation]) => generation)).toEqual([2, 2]);
  expect(await left(world)).toEqual([]);
});

describe('somebody else’s recording that embeds a distinct id of the erased person', () => {
  it('stays in the mirror without it, once somebody has approved that', async () => {
    const { world, uuid } = await openKnownWorld(name);
    const db = world.db();
    const [row] = db.prepare<[], { id: string }>(`SELECT id FROM recordings ORDER BY row_key`).all();
    const person = (ids: string[]) => JSON.stringify({ id: 1, distinct_ids: ids, name: 'Other' });
    const change = db.prepare(`UPDATE recordings SET person = ? WHERE id = ?`);
    change.run(person(['other', name]), row?.id);
    await world.request([{ kind: 'uuid', value: uuid }]);
    expect(requests(world)).toEqual([[1, 'held']]);
    await world.approveHeld();
    expect(await world.reconcile()).toMatchObject({ erasure: { verified: 1, residue: 0 } });
    expect(db.prepare(`SELECT person FROM recordings WHERE id = ?`).pluck().get(row?.id)).toBe(person(['other']));
    expect(db.prepare(`SELECT op FROM changes WHERE key = ? ORDER BY seq DESC`).pluck().get(row?.id)).toBe('upsert');
    expect(await left(world)).toEqual([]);
  });
});

describe('somebody whom only the service knows', () => {
  it('is kept out by every distinct id that the service has shown', async () => {
    const world = await openErasureWorld(5);
    world.create([name, 'second-canary']);
    await world.request([{ kind: 'distinct_id', value: name }]);
    await world.reconcile();
    const [request] = listRequests(world.db(), 'all');
    // Uuid, integer id and two distinct ids.
    expect(readFenceUse(world.db(), request?.id ?? '').entries).toBe(4);
    world.pass(1);
    world.create(['third-canary', 'second-canary']);
    await world.sync();
    expect(readFenceUse(world.db(), request?.id ?? '')).toMatchObject({ hits: 1, recreated: 1 });
  });
});
