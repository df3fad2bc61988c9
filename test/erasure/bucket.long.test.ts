import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { certificatePath } from '../../src/erasure/proof/certificate-file.ts';
import { verify } from '../../docs/verifier/verify.mjs';
import { certificateWords } from '../../docs/verifier/certificate-words.mjs';
import { readCertificate, type Certificate } from '../../src/erasure/proof/certificate.ts';
import { planBucket } from '../../src/bucket/keep.ts';
import { checkBucket } from '../../src/status/bucket-check.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { isoTime } from '../../src/core/clock.ts';
import { newestNumber, noteFeedPublished } from '../../src/mirror/feeds.ts';
import { prepareRemoveRow, type DeletionReason } from '../../src/mirror/remove-rows.ts';
import { listDestinations, readStandings } from '../../src/mirror/destinations.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { isFile } from '../../src/ledger/target.ts';
import { listTargets } from '../../src/mirror/erasure-targets.ts';
import { publishedDatasets } from '../../src/contract/datasets.ts';
import { findRequest } from '../../src/mirror/erasure-requests.ts';
import { transact } from '../../src/mirror/transact.ts';
import { openDatabaseReadOnly } from '../../src/mirror/database.ts';
import type { ServiceContext } from '../../src/job/job-context.ts';
import { runExportJob } from '../../src/worker/export-job.ts';
import { runReconcileJob } from '../../src/worker/reconcile-job.ts';
import { startCatalog } from '../bucket/catalog-model.ts';
import { expectEqual, freshModel, setCredentials } from '../bucket/follow-world.ts';
import type { S3Model } from '../bucket/s3-model.ts';
import { openErasureWorld, type ErasureWorld } from './erasure-world.ts';
import { reuseDuckDb } from '../snapshot/one-duckdb.ts';

reuseDuckDb();

type Scene = { world: ErasureWorld; model: S3Model; id: string };

/** A person is in two snapshots of the bucket, and is asked to be erased. */
async function openScene(
  prepare: (model: S3Model, world: ErasureWorld) => void = () => undefined,
  set: { path: string; value: string }[] = [],
): Promise<Scene> {
  const model = await freshModel();
  setCredentials();
  const world = await openErasureWorld(5, [
    { path: 'export.destination', value: 's3://bucket/mirror' },
    { path: 'export.s3.endpoint', value: model.endpoint },
    { path: 'export.s3.forcePathStyle', value: true },
    ...set,
  ]);
  model.now = () => world.clock.now();
  prepare(model, world);
  const [uuid = ''] = world.sandbox.act({ do: 'create', distinct_ids: ['ann'] }).created;
  await world.syncAndPublish();
  await world.publish();
  const [added] = await world.request([{ kind: 'uuid', value: uuid }], undefined, false);
  return { world, model, id: added?.id ?? '' };
}

/** Copies a folder with its modes. */
function copy(from: string, to: string): void {
  execFileSync('cp', ['-a', from, to]);
}

function bucketOf({ world, id }: Scene) {
  return listTargets(world.db(), id).find(({ target }) => target === 'bucket');
}

/** What a job works with once the settings name no bucket any more. */
function withoutBucket(context: ServiceContext): ServiceContext {
  const { settings } = context;
  return { ...context, settings: { ...settings, export: { ...settings.export, destination: null } } };
}

/** The certificate of the request, which the verifier alone must hold good. */
async function certificateOf({ world, id }: Scene): Promise<Certificate | undefined> {
  const bytes = readFileSync(certificatePath(world.dataDir, id, 1));
  const task = { folder: join(world.dataDir, 'ledger'), certificates: { own: bytes }, now: world.clock.now() };
  expect(verify(task).problems).toEqual([]);
  return readCertificate(String(bytes));
}

describe('an erasure with a bucket', () => {
  it('removes every version of what was rewritten, and is certified as it was seen', async () => {
    const scene = await openScene();
    const { world, model } = scene;
    model.uploads.push({ key: 'mirror/persons/20261118T090000.000Z/part-00001.parquet', id: 'left over' });
    const { db, dataDir, settings, clock } = world;
    const plan = (rewritten: string[]) =>
      planBucket(
        { published: publishedFilesIn(dataDir), settings, clock, signal: new AbortController().signal },
        rewritten,
      );
    const planned = [...model.versions.keys()].find((key) => /persons.*parquet$/.test(key)) ?? '';
    const asked = model.asked.length;
    expect(await plan([planned.replace('mirror/', '')])).toEqual({
      destination: 's3://bucket/mirror',
      put: [],
      remove: [planned.replace('mirror/', ''), 'persons/20261118T090000.000Z/part-00001.parquet'].toSorted(),
    });
    expect(model.asked.slice(asked).filter((each) => !/^(?:GET|HEAD) /.test(each))).toEqual([]);
    const result = await world.reconcile();
    expect(result?.bucket).toMatchObject({ error: null });
    expectEqual(model, world.dataDir);
    expect(readStandings(db())).toEqual([
      {
        location: 's3://bucket/mirror',
        equalAt: expect.any(String) as string,
        files: model.versions.size,
        behindSince: null,
        cause: null,
      },
    ]);
    const keys = listTargets(world.db(), scene.id).flatMap(({ target }) =>
      isFile(target) ? [`mirror/${target.dataset}/${target.snapshotId}/${target.name}`] : [],
    );
    expect(keys.length).toBeGreaterThan(1);
    expect(model.asked.filter((asked) => keys.some((key) => asked.startsWith(`PUT /bucket/${key}`)))).toHaveLength(
      keys.length,
    );
    expect(keys.filter((key) => model.versions.has(key))).toEqual([]);
    const certificate = await certificateOf(scene);
    expect(certificate?.targets).toContainEqual(
      expect.objectContaining({ target: 'bucket', result: 'absent', assurance: 'observed' }),
    );
  });

  it('is not done while the bucket does not answer, and is done when it does', async () => {
    const scene = await openScene();
    const { world, model, id } = scene;
    model.fault = () => 'cut before';
    const result = await world.reconcile();
    expect(result).toMatchObject({ outcome: 'held', bucket: { error: { code: 'unreachable' } } });
    expect(findRequest(world.db(), id)).toMatchObject({
      state: 'attention',
      reason: 'bucket_unreachable',
      certifiedAt: null,
    });
    const [first] = readStandings(world.db());
    expect(first).toMatchObject({
      equalAt: expect.any(String) as string,
      behindSince: expect.any(String) as string,
      cause: expect.stringMatching(/does not answer/) as string,
    });
    await world.reconcile();
    expect(readStandings(world.db())[0]?.behindSince).toBe(first?.behindSince);
    model.fault = () => undefined;
    expect((await world.reconcile())?.outcome).toBe('done');
    expect(readStandings(world.db())[0]).toMatchObject({ behindSince: null, cause: null });
    expect(bucketOf(scene)).toMatchObject({ status: 'done', result: 'absent' });
    expectEqual(model, world.dataDir);
    await certificateOf(scene);
    const entries = readFileSync(join(world.dataDir, 'ledger', 'entries.jsonl'), 'utf8');
    expect(entries.match(/"bucket_unreachable"/g)).toHaveLength(1);
  });

  describe('a deletion stays in the feed', () => {
    /** A person leaves the mirror, and the feed tells of it. */
    const letLeave = ({ world }: Scene): void => {
      const db = world.db();
      const rowKey = db.prepare<[], number>(`SELECT min(row_key) FROM persons`).pluck().get() ?? 0;
      transact(db, () => prepareRemoveRow(db, 'persons')(rowKey, 'merged', isoTime(world.clock.now())));
    };
    const isTold = ({ world }: Scene, reason: DeletionReason): boolean =>
      world.db().prepare(`SELECT 1 FROM deletions WHERE reason = ?`).get(reason) !== undefined;

    it('until the bucket has had it for as long as rows stay', async () => {
      const scene = await openScene();
      const { world, model } = scene;
      await world.reconcile();
      await world.publish();
      model.fault = () => 'cut before';
      letLeave(scene);
      await world.publish();
      world.pass(31);
      await world.publish();
      await world.reconcile();
      expect(isTold(scene, 'merged')).toBe(true);
      model.fault = () => undefined;
      await world.publish();
      world.pass(29);
      await world.reconcile();
      expect(isTold(scene, 'merged')).toBe(true);
      world.pass(2);
      await world.reconcile();
      expect(isTold(scene, 'merged')).toBe(false);
    });

    it('for no bucket that the settings name no more', async () => {
      const scene = await openScene();
      const { world } = scene;
      await world.reconcile();
      letLeave(scene);
      await world.look((context) => {
        const task = {
          datasets: publishedDatasets,
          kind: 'full',
          source: openDatabaseReadOnly(world.dataDir),
        } as const;
        return runExportJob(withoutBucket(context), task).finally(() => task.source.close());
      });
      world.pass(31);
      const result = await world.look((context) => runReconcileJob(withoutBucket(context), undefined));
      expect(result.bucket?.error).toMatchObject({ finding: 'bucket_left' });
      expect(isTold(scene, 'merged')).toBe(false);
    });

    it('while its request is open', async () => {
      const scene = await openScene();
      const { world, model } = scene;
      model.fault = () => 'cut before';
      await world.reconcile();
      noteFeedPublished(world.db(), newestNumber(world.db()), isoTime(world.clock.now()));
      world.pass(31);
      await world.reconcile();
      expect(isTold(scene, 'erased')).toBe(true);
      model.fault = () => undefined;
      await world.reconcile();
      await world.reconcile();
      expect(isTold(scene, 'erased')).toBe(false);
    });
  });

  it('is certified where a catalog cannot be told: the run says so, the certificate names no catalog, and the next run tells it', async () => {
    const catalog = await startCatalog();
    const scene = await openScene(undefined, [{ path: 'export.catalog.uri', value: catalog.uri }]);
    const { world } = scene;
    const isRead = (): boolean =>
      [...catalog.tables.values()].every((entry) =>
        scene.model.current().has(entry['metadata-location'].replace('s3://bucket/', '')),
      );
    catalog.fault = () => 500;
    const result = await world.reconcile();
    expect(result).toMatchObject({
      outcome: 'held',
      bucket: { error: null },
      catalog: { told: [], error: { code: 'service', message: `the catalog at ${catalog.uri} answers GET with 500` } },
    });
    const certificate = await certificateOf(scene);
    expect(certificate?.targets).toContainEqual(expect.objectContaining({ target: 'bucket', result: 'absent' }));
    expect(JSON.stringify(certificate)).not.toContain('catalog');
    expectEqual(scene.model, world.dataDir);
    catalog.fault = () => undefined;
    expect(await world.reconcile()).toMatchObject({ outcome: 'done', catalog: { error: null } });
    expect([catalog.tables.size, isRead()]).toEqual([publishedDatasets.length, true]);
  });

  it('is certified by no wrong clock of the store: it is refused, and the times that it gave tell nothing', async () => {
    const scene = await openScene();
    const { world, model } = scene;
    const right = model.now;
    model.now = () => right() + 7_200_000;
    model.locksUntil = Date.parse('2033-01-01T00:00:00.000Z');
    model.put('mirror/persons/20200101T000000.000Z/part-00001.parquet', 'put before, two hours ahead');
    model.locksUntil = 0;
    const result = await world.reconcile();
    expect(result?.bucket?.error).toMatchObject({ message: expect.stringContaining('clock') as string });
    expect(findRequest(world.db(), scene.id)).toMatchObject({ state: 'attention', certifiedAt: null });
    model.now = right;
    await world.reconcile();
    expect(bucketOf(scene)).toMatchObject({ status: 'done', result: 'locked' });
  });

  it('names a missing right, and keeps the request open', async () => {
    const scene = await openScene();
    const { world, model, id } = scene;
    model.fault = (_index, asked) => (asked.startsWith('DELETE') ? [403, 'AccessDenied'] : undefined);
    const result = await world.reconcile();
    expect(result?.bucket?.error).toMatchObject({
      code: 'refused',
      message: 's3://bucket/mirror refuses s3:DeleteObjectVersion',
    });
    expect(findRequest(world.db(), id)).toMatchObject({ state: 'attention', reason: 'bucket_refuses' });
  });

  it('certifies what a lock keeps beyond the day on which it is due, and until when', async () => {
    const until = '2033-01-01T00:00:00.000Z';
    const scene = await openScene((model) => {
      model.locksUntil = Date.parse(until);
    });
    expect((await scene.world.reconcile())?.bucket?.followed?.locked.length).toBeGreaterThan(0);
    expect(bucketOf(scene)).toMatchObject({ status: 'done', result: 'locked', assurance: 'observed' });
    const certificate = await certificateOf(scene);
    expect(certificate).toMatchObject({ weakest_assurance: 'not_reached' });
    expect(certificateWords(certificate ?? {}).summary).toContain('not everything reached');
    expect(certificate?.targets).toContainEqual(expect.objectContaining({ target: 'bucket', result: 'locked', until }));
    // The program goes on to remove it: when the lock ends, no version is left.
    for (const version of [...scene.model.versions.values()].flat()) version.until = 0;
    await scene.world.reconcile();
    expectEqual(scene.model, scene.world.dataDir);
  });

  it('does not mind what a lock keeps of what was put later', async () => {
    const scene = await openScene();
    const { world, model } = scene;
    model.fault = () => 'cut before';
    await world.reconcile();
    model.fault = () => undefined;
    world.pass(1);
    model.locksUntil = Date.parse('2033-01-01T00:00:00.000Z');
    model.put('mirror/persons/20200101T000000.000Z/part-00001.parquet', 'put after the person had left the folder');
    model.locksUntil = 0;
    expect((await world.reconcile())?.bucket?.followed?.locked).toHaveLength(1);
    expect(bucketOf(scene)?.result).toBe('absent');
  });

  it('waits for a lock that ends before that day', async () => {
    const until = '2026-11-25T00:00:00.000Z';
    const scene = await openScene((model) => {
      model.locksUntil = Date.parse(until);
    });
    const { world } = scene;
    await world.reconcile();
    expect(bucketOf(scene)).toMatchObject({ status: 'attention', reason: 'bucket_locked', notBefore: until });
    scene.model.locksUntil = 0;
    world.pass(8);
    expect((await world.reconcile())?.outcome).toBe('done');
    expect(bucketOf(scene)).toMatchObject({ status: 'done', result: 'absent' });
    expectEqual(scene.model, world.dataDir);
    await certificateOf(scene);
  });

  it('is refused where an older copy of mirror and ledger was put back, and the bucket keeps what it has', async () => {
    const scene = await openScene();
    const { world, model } = scene;
    const older = join(freshFolder(), 'older');
    world.db().close();
    copy(world.dataDir, older);
    world.reopen();
    await world.reconcile();
    expectEqual(model, world.dataDir);
    const before = JSON.stringify([...model.versions]);
    const newer = join(freshFolder(), 'newer');
    world.db().close();
    copy(world.dataDir, newer);
    const putBack = (kept: string): void => {
      rmSync(world.dataDir, { recursive: true });
      copy(kept, world.dataDir);
      world.reopen();
    };
    putBack(older);
    const refused = { code: 'refused', finding: 'bucket_ahead' };
    // Its ledger grows past the size of the lost one, and is still another.
    for (let run = 0; run < 3; run += 1) {
      expect((await world.reconcile())?.bucket?.error).toMatchObject(refused);
      await world.syncAndPublish();
    }
    const { dataDir, settings, clock, db } = world;
    const { signal } = new AbortController();
    await expect(
      planBucket({ published: publishedFilesIn(dataDir), settings, clock, signal }, []),
    ).rejects.toMatchObject(refused);
    const destination = { location: 's3://bucket/mirror', ...settings.export.s3 };
    // The doctor goes by the clock of this machine.
    model.now = () => Date.now();
    await expect(checkBucket(destination, settings, signal)).rejects.toMatchObject(refused);
    model.now = () => clock.now();
    expect(readStandings(db())).toMatchObject([{ cause: expect.stringContaining('older copy') as string }]);
    expect(JSON.stringify([...model.versions])).toBe(before);
    db().close();
    putBack(newer);
    await world.syncAndPublish();
    expect((await world.reconcile())?.bucket).toMatchObject({ error: null });
    expectEqual(model, world.dataDir);
  });

  it('is not done while an earlier bucket still holds files, which the settings name no more', async () => {
    const scene = await openScene();
    const { world, model } = scene;
    const reconcile = () => world.look((context) => runReconcileJob(withoutBucket(context), undefined));
    expect((await reconcile()).bucket?.error).toMatchObject({ finding: 'bucket_left' });
    expect(bucketOf(scene)).toMatchObject({ status: 'attention', reason: 'bucket_refuses' });
    model.versions.clear();
    expect((await reconcile()).outcome).toBe('done');
    expect(listDestinations(world.db())).toEqual([]);
    expect(bucketOf(scene)).toMatchObject({ status: 'done', result: 'absent' });
  });

  it('is not done while the bucket of this name at another address still holds files', async () => {
    const scene = await openScene();
    const { world, model } = scene;
    const other = await freshModel();
    other.now = () => world.clock.now();
    const at = (endpoint: string) => () =>
      world.look((context) => {
        const { settings } = context;
        const exporting = { ...settings.export, s3: { ...settings.export.s3, endpoint } };
        return runReconcileJob({ ...context, settings: { ...settings, export: exporting } }, undefined);
      });
    const moved = at(other.endpoint);
    // It has never answered: nothing is there.
    expect((await at('http://127.0.0.1:9')()).bucket?.error).toMatchObject({ code: 'unreachable' });
    expect((await moved()).bucket?.error).toMatchObject({ finding: 'bucket_left' });
    expect(bucketOf(scene)).toMatchObject({ status: 'attention', reason: 'bucket_refuses' });
    expectEqual(other, world.dataDir);
    expect(listDestinations(world.db())).toHaveLength(2);
    // The first bucket by another name of its store: it is no other place, and the second one is.
    const named = model.endpoint.replace('127.0.0.1', 'localhost');
    expect((await at(named)()).bucket?.error?.message).toContain(`at ${other.endpoint} still holds`);
    expect((await moved()).bucket?.error?.message).toContain(`at ${named} still holds`);
    model.versions.clear();
    expect((await moved()).outcome).toBe('done');
    expect(listDestinations(world.db())).toMatchObject([{ location: 's3://bucket/mirror' }]);
  });

  it('is not done while a store still holds files that another one has as a true copy, times and versions alike', async () => {
    const scene = await openScene();
    const { world, model } = scene;
    const copied = await freshModel();
    copied.now = () => world.clock.now();
    for (const [key, versions] of model.versions) copied.versions.set(key, [...versions]);
    const task = { datasets: null, kind: 'full', source: openDatabaseReadOnly(world.dataDir) } as const;
    const moved = (job: 'export' | 'reconcile') =>
      world.look(async (context) => {
        const { settings } = context;
        const exporting = { ...settings.export, s3: { ...settings.export.s3, endpoint: copied.endpoint } };
        const own = { ...context, settings: { ...settings, export: exporting } };
        const { bucket, outcome } = await (job === 'export'
          ? runExportJob(own, task)
          : runReconcileJob(own, undefined));
        return { bucket, outcome };
      });
    // Nothing is new, so that both have the same until the erasure.
    const before = [...copied.versions.keys()].toSorted();
    expect((await moved('export')).bucket?.error).toMatchObject({ finding: 'bucket_left' });
    expect([...copied.versions.keys()].toSorted()).toEqual(before);
    // Neither does it leave anything there where the former store does not say whether it has it.
    model.fault = (_index, asked) =>
      asked.startsWith('HEAD /bucket/mirror/probe-') ? [403, 'AccessDenied'] : undefined;
    expect((await moved('export')).bucket?.error).toMatchObject({ code: 'refused' });
    expect([...copied.versions.keys()].toSorted()).toEqual(before);
    model.fault = () => undefined;
    task.source.close();
    expect((await moved('reconcile')).bucket?.error).toMatchObject({ finding: 'bucket_left' });
    expect(bucketOf(scene)).toMatchObject({ status: 'attention', reason: 'bucket_refuses' });
    model.versions.clear();
    expect((await moved('reconcile')).outcome).toBe('done');
    expect(bucketOf(scene)).toMatchObject({ status: 'done', result: 'absent' });
  });
});
