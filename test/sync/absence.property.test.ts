import fc from 'fast-check';
import { rmSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadSettings } from '../../src/config/load-settings.ts';
import type { Clock } from '../../src/core/clock.ts';
import { AppError } from '../../src/core/errors.ts';
import { openDatabase, openDatabaseReadOnly, type Database } from '../../src/mirror/database.ts';
import { approvePlan, listSuspects } from '../../src/mirror/suspects.ts';
import { planDatasetAbsence, reconcileAbsence, type AbsenceResult } from '../../src/sync/absence.ts';
import { syncList } from '../../src/sync/sync-list.ts';
import { freshFolder, putEmptyMirror } from '../mirror/open-test-mirror.ts';
import { batchWays, ModelService, type BatchWay, type Outage } from './absence-model.ts';

type Step =
  | { do: 'create'; distinctIds: number }
  | { do: 'update' | 'delete' | 'split'; at: number }
  | { do: 'merge'; at: number; into: number }
  | { do: 'sync' | 'reconcile' | 'approve' | 'list goes empty' | 'list comes back' }
  | { do: 'wait'; seconds: number }
  | { do: 'delete many' | 'hide'; at: number; count: number }
  | { do: 'batches'; way: BatchWay }
  | { do: 'outage'; outage: Outage | null };

const place = fc.nat({ max: 40 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('create' as const), distinctIds: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constantFrom('update' as const, 'delete' as const, 'split' as const), at: place }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('delete many' as const), at: place, count: fc.integer({ min: 5, max: 9 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('batches' as const), way: fc.constantFrom(...batchWays) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('merge' as const), at: place, into: place }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constantFrom('sync' as const, 'reconcile' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom('approve' as const, 'list goes empty' as const, 'list comes back' as const),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('wait' as const), seconds: fc.constantFrom(1, 299, 300, 900) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('outage' as const),
      outage: fc.constantFrom<(Outage | null)[]>(401, 403, 429, 500, 'unreachable', null, null),
    }),
  },
);

/** A real mirror beside the model service, on a clock of its own. */
class World {
  readonly model = new ModelService();
  readonly db: Database;
  readonly folder = freshFolder();
  private nowMs = Date.UTC(2026, 0, 2);
  readonly clock: Clock = { now: () => this.nowMs, sleep: () => Promise.reject(new Error('nothing sleeps here')) };
  private readonly settings = loadSettings(
    {},
    {
      set: [
        { path: 'persons.pageSize', value: 10 },
        { path: 'persons.overlap', value: 3 },
        { path: 'deletions.maxShare', value: 0.4 },
        { path: 'budget.concurrency', value: 2 },
      ],
    },
  ).settings;

  constructor(persons = 30) {
    putEmptyMirror(this.folder);
    this.db = openDatabase(this.folder, this.clock);
    for (let number = 0; number < persons; number += 1) this.model.create(1 + (number % 3));
  }

  wait(seconds: number): void {
    this.nowMs += seconds * 1000;
  }

  sync() {
    const { db, clock, settings } = this;
    const signal = new AbortController().signal;
    return syncList({
      dataset: 'persons',
      mode: 'full',
      resume: true,
      db,
      service: this.model.service,
      settings,
      clock,
      signal,
      onProgress: () => undefined,
    });
  }

  /** Asks about who is absent, and waits for so many seconds after it. */
  async reconcile(thenWait = 0): Promise<AbsenceResult> {
    const { db, clock, settings } = this;
    const { signal } = new AbortController();
    const result = await reconcileAbsence({ db, service: this.model.service, settings, clock, signal });
    this.wait(thenWait);
    return result;
  }

  /** What is to be done, as a connection sees it that cannot change anything. */
  plan() {
    const db = openDatabaseReadOnly(this.folder);
    const { ask, wait, hold } = planDatasetAbsence({ ...this, db, settings: this.settings }, 'persons');
    db.close();
    return { ask: ask.length, wait: wait.length, hold: hold?.rows.length ?? 0 };
  }

  mirrored(): string[] {
    return this.db.prepare<[], string>(`SELECT uuid FROM persons ORDER BY uuid`).pluck().all();
  }

  deletions(): string[] {
    return this.db.prepare<[], string>(`SELECT key FROM deletions`).pluck().all();
  }

  approveAll(): void {
    for (const plan of this.db.prepare<[], string>(`SELECT plan FROM deletion_plans`).pluck().all())
      approvePlan(this.db, plan, 'now');
  }

  close(): void {
    this.db.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'create':
        this.model.create(step.distinctIds);
        break;
      case 'merge':
        this.model.merge(step.at, step.into);
        break;
      case 'update':
      case 'delete':
      case 'split':
        this.model[step.do](step.at);
        break;
      case 'wait':
        this.wait(step.seconds);
        break;
      case 'delete many':
        for (let left = step.count; left > 0; left -= 1) this.model.delete(step.at);
        break;
      case 'hide':
        this.model.hide(step.at, step.count);
        break;
      case 'batches':
        this.model.batches = step.way;
        break;
      case 'outage':
        this.model.outage = step.outage;
        break;
      case 'list goes empty':
      case 'list comes back':
        this.model.listIsEmpty = step.do === 'list goes empty';
        break;
      case 'approve':
        this.approveAll();
        break;
      case 'sync':
      case 'reconcile':
        // An outage ends either with its error, and that is all that it may do.
        await this[step.do]().catch((error: unknown) => {
          if (!(error instanceof AppError)) throw error;
        });
        break;
    }
  }
}

/** A world whose mirror has all persons, of a service that answers so for many at once. It ends with the test. */
async function openMirrored(persons?: number, batches: BatchWay = 'none'): Promise<World> {
  const world = new World(persons);
  onTestFinished(() => world.close());
  world.model.batches = batches;
  await world.sync();
  return world;
}

describe('absence, over any history', () => {
  it('takes a person out who was missing, came back, and is missing again, with no reconciliation between', async () => {
    const world = await openMirrored();
    world.model.listIsEmpty = true;
    await world.sync();
    world.model.listIsEmpty = false;
    await world.sync();
    world.model.delete(0);
    await world.sync();
    expect(await world.reconcile()).toMatchObject({ asked: 1 });
    world.wait(300);
    expect(await world.reconcile()).toMatchObject({ deleted: 1 });
  });

  it('never takes a living person out, and in the end everybody who is gone', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...batchWays), fc.array(step, { maxLength: 30 }), async (way, steps) => {
        const world = new World();
        world.model.batches = way;
        try {
          await world.sync();
          for (const each of steps) {
            const before = new Set(world.deletions());
            await world.take(each);
            // Whoever has just been taken out was gone at that moment.
            const taken = world.deletions().filter((uuid) => !before.has(uuid));
            expect(taken.filter((uuid) => !world.model.gone.has(uuid))).toEqual([]);
          }
          world.model.outage = null;
          world.model.listIsEmpty = false;
          world.model.hidden.clear();
          await world.sync();
          for (let round = 0; round < 3; round += 1) {
            await world.reconcile();
            world.approveAll();
            world.wait(300);
          }
          expect(world.mirrored()).toEqual(world.model.persons.map(({ uuid }) => uuid).toSorted());
          const owners = world.db
            .prepare(`SELECT distinct_id, person_uuid FROM person_distinct_ids ORDER BY 1`)
            .raw()
            .all();
          const held = world.model.persons.flatMap(({ uuid, distinctIds }) =>
            distinctIds.map((distinctId) => [distinctId, uuid]),
          );
          expect(owners).toEqual(held.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)));
          expect(world.db.prepare(`SELECT count(*) FROM suspects`).pluck().get()).toBe(0);
        } finally {
          world.close();
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe('absence', () => {
  const counts = ({ held, ...rest }: AbsenceResult) => ({ ...rest, held: held.length });
  const none = { asked: 0, alive: 0, deleted: 0, merged: 0, expired: 0, waiting: 0, held: 0 };

  it('takes two answers, apart in time', async () => {
    const world = await openMirrored();
    world.model.delete(5);
    await world.sync();
    expect(counts(await world.reconcile())).toEqual({ ...none, asked: 1, waiting: 1 });
    world.wait(299);
    expect(counts(await world.reconcile())).toEqual({ ...none, waiting: 1 });
    world.wait(1);
    expect(counts(await world.reconcile())).toEqual({ ...none, asked: 1, deleted: 1 });
    expect(world.db.prepare(`SELECT dataset, reason FROM deletions`).all()).toEqual([
      { dataset: 'persons', reason: 'deleted' },
    ]);
    expect(world.db.prepare(`SELECT op FROM changes ORDER BY seq DESC`).pluck().get()).toBe('delete');
  });

  it('holds what leaves a few a day as if it left at once', async () => {
    const world = await openMirrored();
    const rows = world.model.persons.length;
    for (let day = 1; day <= 16; day += 1) {
      world.model.delete(5);
      world.model.delete(6);
      await world.sync();
      await world.reconcile(300);
      await world.reconcile();
      world.wait(86_400);
    }
    const { held } = await world.reconcile();
    expect(held).toHaveLength(1);
    const left = world.db.prepare<[], number>(`SELECT count(*) FROM deletions`).pluck().get() ?? 0;
    expect([left > rows * 0.4 - 2, left <= rows * 0.4]).toEqual([true, true]);
  });

  it('sees a merge as a merge, and brings the survivor up to date', async () => {
    const world = await openMirrored();
    const survivor = world.model.persons[20]?.uuid;
    world.model.merge(3, 20);
    await world.sync();
    await world.reconcile(300);
    expect(counts(await world.reconcile())).toMatchObject({ merged: 1, deleted: 0 });
    expect(world.db.prepare(`SELECT merged_into FROM deletions`).pluck().get()).toBe(survivor);
    const kept = world.db
      .prepare<[string], string>(`SELECT distinct_ids FROM persons WHERE uuid = ?`)
      .pluck()
      .get(survivor ?? '');
    expect(JSON.parse(kept ?? '[]')).toEqual(world.model.persons.find(({ uuid }) => uuid === survivor)?.distinctIds);
  });

  it('takes a deletion for a deletion, although somebody came by the distinct id anew', async () => {
    const world = await openMirrored();
    const distinctIds = world.model.persons[5]?.distinctIds ?? [];
    world.model.delete(5);
    world.model.create(0).distinctIds.push(...distinctIds);
    await world.sync();
    await world.reconcile(300);
    expect(counts(await world.reconcile())).toMatchObject({ merged: 0, deleted: 1 });
  });

  it('holds a list that goes empty, and forgets the plan when the list comes back', async () => {
    const world = await openMirrored();
    world.model.listIsEmpty = true;
    expect(await world.sync()).toMatchObject({ verdict: 'complete', rowsReceived: 0 });
    expect(counts(await world.reconcile())).toEqual({ ...none, held: 1 });
    expect(world.mirrored()).toHaveLength(30);
    world.model.listIsEmpty = false;
    await world.sync();
    expect(counts(await world.reconcile())).toEqual(none);
  });

  it('plans without changing anything, and not for rows that were seen again', async () => {
    const world = await openMirrored();
    world.model.listIsEmpty = true;
    await world.sync();
    expect(world.plan()).toEqual({ ask: 0, wait: 0, hold: 30 });
    world.model.listIsEmpty = false;
    world.model.delete(5);
    await world.sync();
    expect(world.plan()).toEqual({ ask: 1, wait: 0, hold: 0 });
    await world.reconcile();
    expect(world.plan()).toEqual({ ask: 0, wait: 1, hold: 0 });
  });

  it('asks even for what was approved: an approval deletes nobody who is there', async () => {
    const world = await openMirrored();
    world.model.listIsEmpty = true;
    await world.sync();
    await world.reconcile();
    world.approveAll();
    expect(counts(await world.reconcile())).toEqual({ ...none, asked: 30, alive: 30 });
    expect(world.mirrored()).toHaveLength(30);
  });

  it('an approval covers its plan and nothing larger', async () => {
    const world = await openMirrored();
    for (let count = 0; count < 15; count += 1) world.model.delete(0);
    await world.sync();
    const [first] = (await world.reconcile()).held;
    expect(first).toMatchObject({ dataset: 'persons', rows: 15, rowsTotal: 30 });
    world.model.delete(0);
    await world.sync();
    const [second] = (await world.reconcile()).held;
    expect(second?.rows).toBe(16);
    expect(approvePlan(world.db, first?.plan ?? '', 'now')).toBe(false);
    expect(approvePlan(world.db, second?.plan ?? '', 'now')).toBe(true);
    await world.reconcile(300);
    expect(counts(await world.reconcile())).toMatchObject({ deleted: 16, held: 0 });
  });

  it.each<Outage>([401, 403, 429, 500, 'unreachable'])('takes %s for no answer at all', async (outage) => {
    const world = await openMirrored();
    world.model.delete(5);
    await world.sync();
    world.model.outage = outage;
    for (let count = 0; count < 3; count += 1) {
      await expect(world.reconcile()).rejects.toBeInstanceOf(AppError);
      world.wait(300);
    }
    expect(world.mirrored()).toHaveLength(30);
  });

  it.each([
    [500, 'service', ''],
    [403, 'rejected', 'give the user of the key access to each of the persons at the service; '],
  ] as const)(
    'lets other rows go on where one is always answered %i, and says so at the end',
    async (status, code, hint) => {
      const world = await openMirrored();
      const [failing, gone] = [world.model.persons[5], world.model.persons[6]];
      world.model.failsAt.set(failing?.id ?? 0, status);
      world.model.delete(5);
      world.model.delete(5);
      await world.sync();
      for (let count = 0; count < 2; count += 1) {
        await expect(world.reconcile()).rejects.toMatchObject({
          code,
          status,
          hint: `${hint}nothing was decided about 1 row that the lists no longer show; the others went on`,
        });
        world.wait(300);
      }
      expect(world.deletions()).toEqual([gone?.uuid]);
      expect(world.mirrored()).toContain(failing?.uuid);
    },
  );

  it('is ended by a key that may read the list and no row by its id', async () => {
    const world = await openMirrored();
    for (const { id } of world.model.persons) world.model.failsAt.set(id, 403);
    world.model.delete(5);
    await world.sync();
    await expect(world.reconcile()).rejects.toMatchObject({ code: 'refused', status: 403 });
    expect(world.mirrored()).toHaveLength(30);
  });

  it('takes nobody for merged into a person who has none of the distinct ids', async () => {
    const world = await openMirrored();
    world.model.delete(5);
    await world.sync();
    world.model.ignoresFilter = true;
    for (let count = 0; count < 2; count += 1) {
      await expect(world.reconcile()).rejects.toMatchObject({ code: 'service' });
      world.wait(300);
    }
    expect(world.mirrored()).toHaveLength(30);
    world.model.ignoresFilter = false;
    await world.reconcile(300);
    expect(counts(await world.reconcile())).toMatchObject({ merged: 0, deleted: 1 });
  });

  it('takes a project that vanishes for no answer, although every id is a 404', async () => {
    const world = await openMirrored();
    world.model.delete(5);
    // Nobody is left who could be looked up by a distinct id.
    world.db.exec(`UPDATE persons SET distinct_ids = '[]'`);
    await world.sync();
    world.model.projectIsGone = true;
    await expect(world.reconcile()).rejects.toMatchObject({ code: 'refused' });
    world.wait(300);
    await expect(world.reconcile()).rejects.toMatchObject({ code: 'refused' });
    expect(world.mirrored()).toHaveLength(30);
  });

  it.each(['own', 'foreign'] as const)('takes a 404 to every id for no answer (%s)', async (noIdIsThere) => {
    const world = await openMirrored();
    world.model.hide(5, 2);
    // A distinct id would lead to them.
    world.db.exec(`UPDATE persons SET distinct_ids = '[]'`);
    await world.sync();
    world.model.noIdIsThere = noIdIsThere;
    for (let count = 0; count < 3; count += 1) {
      await expect(world.reconcile()).rejects.toMatchObject({ code: 'service' });
      world.wait(300);
    }
    expect(world.mirrored()).toHaveLength(30);
    world.model.noIdIsThere = null;
    expect(counts(await world.reconcile())).toMatchObject({ alive: 2, deleted: 0 });
  });

  it('asks by the exact id, also beyond the integers that a double holds', async () => {
    const world = await openMirrored();
    const [first, second] = [world.model.persons[5]?.uuid, world.model.persons[6]?.uuid];
    world.db.prepare(`UPDATE persons SET id = 9007199254740993 WHERE uuid = ?`).run(first);
    world.model.delete(5);
    world.model.delete(5);
    await world.sync();
    expect(listSuspects(world.db, 'persons').map(({ key, id }) => [key, id])).toEqual([
      [second, '24'],
      [first, '9007199254740993'],
    ]);
    await world.reconcile(300);
    expect(counts(await world.reconcile())).toEqual({ ...none, asked: 2, deleted: 2 });
  });

  it.each(['map', 'list'] as const)('asks for many at once by a service that can (%s)', async (way) => {
    const world = await openMirrored(60, way);
    const survivor = world.model.persons.at(-1)?.uuid;
    for (let count = 0; count < 10; count += 1) world.model.delete(3);
    world.model.merge(3, 40);
    world.model.merge(3, world.model.persons.length - 1);
    await world.sync();
    for (const [settled, batches] of [
      [{ deleted: 0, merged: 0, waiting: 12 }, ['persons.batch_by_uuids']],
      [{ deleted: 10, merged: 2, waiting: 0 }, ['persons.batch_by_uuids', 'persons.batch_by_distinct_ids']],
    ] as const) {
      world.model.calls.length = 0;
      expect(counts(await world.reconcile())).toMatchObject({ asked: 12, ...settled });
      const probes = ['persons.batch_by_uuids', 'persons.batch_by_distinct_ids'];
      expect(world.model.calls).toEqual([...probes, 'persons.list', ...batches]);
      world.wait(300);
    }
    const kept = world.db.prepare<[string], string>(`SELECT distinct_ids FROM persons WHERE uuid = ?`).pluck();
    expect(JSON.parse(kept.get(survivor ?? '') ?? '[]')).toEqual(
      world.model.persons.find(({ uuid }) => uuid === survivor)?.distinctIds,
    );
  });

  it('takes over no person that a batch shows with ten distinct ids: it may have more', async () => {
    const world = await openMirrored(60, 'map');
    const survivor = world.model.create(15);
    await world.sync();
    for (let count = 0; count < 5; count += 1) world.model.delete(10);
    world.model.merge(10, 0);
    await world.sync();
    await world.reconcile(300);
    expect(counts(await world.reconcile())).toMatchObject({ deleted: 5, merged: 1 });
    const kept = world.db
      .prepare<[string], string>(`SELECT distinct_ids FROM persons WHERE uuid = ?`)
      .pluck()
      .get(survivor.uuid);
    expect(JSON.parse(kept ?? '[]')).toEqual(survivor.distinctIds);
  });

  it.each(['nobody', 'first', 'last', 'second', 'stranger', 'page', 'fails'] as const)(
    'asks one by one after a batch that proves nothing (%s)',
    async (way) => {
      const world = await openMirrored(60, way);
      world.model.hide(10, 6);
      for (let count = 0; count < 7; count += 1) world.model.delete(3);
      await world.sync();
      expect(counts(await world.reconcile())).toMatchObject({ asked: 13, alive: 6, waiting: 7 });
      // The seven who are gone are asked for by uuid, too. One more is the control, for each four of all.
      expect(world.model.calls.filter((name) => name === 'persons.retrieve')).toHaveLength(13 + 7 + 4);
      world.wait(300);
      expect(counts(await world.reconcile())).toMatchObject({ asked: 7, deleted: 7 });
      expect(world.mirrored()).toHaveLength(53);
    },
  );

  it('judges nothing by a pass that is not complete', async () => {
    const world = await openMirrored();
    world.model.delete(5);
    world.db.exec(`UPDATE persons_seen SET pass_id = 0`);
    world.model.outage = 500;
    await expect(world.sync()).rejects.toBeInstanceOf(AppError);
    world.model.outage = null;
    expect(counts(await world.reconcile())).toEqual(none);
  });
});
