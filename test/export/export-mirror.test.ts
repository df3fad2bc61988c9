import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';
import { expect, test } from 'vitest';
import { createApp } from '../../src/app/app.ts';
import { exportMirror } from '../../src/export/export-mirror.ts';
import type { ExportContext, MirrorExportTask } from '../../src/export/mirror-export.ts';
import { openDatabase, openDatabaseReadOnly, type Database } from '../../src/mirror/database.ts';
import { setEpoch } from '../../src/mirror/fence.ts';
import { datasetFolder } from '../snapshot/paths.ts';
import { publishedFilesIn, type PublishedFiles } from '../../src/snapshot/published-files.ts';
import { rowsOfSnapshot } from '../snapshot/publish-rows.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { stoppedClock } from './export-fixture.ts';

type World = ExportContext & MirrorExportTask & { dataDir: string };

/** A mirror of two persons, and what exporting it takes. */
function openMirror(changes: Partial<World> = {}): World {
  const dataDir = temporaryFolder();
  const { settings } = createApp({ environment: { MIRROR_DATA_DIR: dataDir }, isTerminal: false }, {});
  const db = openDatabase(dataDir, stoppedClock);
  db.exec(/*sql*/ `INSERT INTO persons (uuid, first_seen_pass, changed_at)
    VALUES ('ann', 1, '2026-11-20T10:00:00Z'), ('bob', 1, '2026-11-20T10:00:00Z')`);
  return {
    dataDir,
    db,
    source: openDatabaseReadOnly(dataDir),
    published: publishedFilesIn(dataDir),
    datasets: ['persons'],
    kind: 'full',
    settings,
    clock: stoppedClock,
    signal: new AbortController().signal,
    onProgress: () => undefined,
    ...changes,
  };
}

/** Exports one dataset; the id of its snapshot. */
async function exportOne(...given: Parameters<typeof exportMirror>): Promise<string> {
  return (await exportMirror(...given))[0]?.snapshotId ?? '';
}

/** As an erasure does: the person leaves in the transaction that moves the epoch. */
function erase(mirror: Database, uuid: string, epoch: number): void {
  mirror.transaction(() => {
    mirror.prepare(/*sql*/ `DELETE FROM persons WHERE uuid = ?`).run(uuid);
    setEpoch(mirror, epoch);
  })();
}

test('a manifest tells the epoch of the mirror that its rows come from', async () => {
  const world = openMirror();
  setEpoch(world.db, 7);
  const snapshotId = await exportOne(world, world);
  expect(publishedFilesIn(world.dataDir).readManifest({ dataset: 'persons', snapshotId })).toMatchObject({
    erasure_epoch: 7,
    rows: 2,
  });
});

test('a promoted column that was away is another column when it comes back, and the files say so', async () => {
  const world = openMirror();
  const idsOf = async (promote: string[], kind: 'full' | 'delta' = 'full'): Promise<unknown> => {
    const settings = { ...world.settings, export: { ...world.settings.export, promote } };
    const snapshotId = await exportOne({ ...world, settings }, { ...world, kind });
    const path = join(datasetFolder(world.dataDir, 'persons'), snapshotId, 'part-00001.parquet');
    const { schema } = await parquetMetadataAsync(await asyncBufferFromFile(path));
    const fields = schema.filter(({ field_id: id }) => id !== undefined);
    const { columns } = world.published.readManifest({ dataset: 'persons', snapshotId });
    expect(columns.flatMap(({ id, element_id: element }) => [id, element ?? []].flat())).toEqual(
      fields.map(({ field_id: id }) => id),
    );
    return Object.fromEntries(fields.map(({ name, field_id: id }) => [name, id]));
  };
  const plain = { person_uuid: 1, person_id: 2, name: 3, distinct_ids: 4, element: 5, properties: 6 };
  const all = { ...plain, created_at: 7, extra: 8, changed_at: 9, _seq: 10 };
  expect(await idsOf([])).toEqual(all);
  expect(await idsOf(['plan'])).toEqual({ ...all, property_plan: 11 });
  expect(await idsOf(['email', 'plan'])).toEqual({ ...all, property_plan: 11, property_email: 12 });
  expect(await idsOf(['email'])).toEqual({ ...all, property_email: 12 });
  expect(await idsOf(['email', 'plan'], 'delta')).toEqual({ ...all, property_email: 12, property_plan: 13 });
});

test('an older copy of the mirror gives no number of a published column to another one', async () => {
  const world = openMirror();
  const columnsOf = async (promote: string[]): Promise<(readonly [string, number | undefined])[]> => {
    const settings = { ...world.settings, export: { ...world.settings.export, promote } };
    const snapshotId = await exportOne({ ...world, settings }, world);
    const { columns } = world.published.readManifest({ dataset: 'persons', snapshotId });
    return columns.map(({ name, id }) => [name, id]);
  };
  await columnsOf([]);
  const older = world.db.prepare(/*sql*/ `SELECT * FROM published_fields`).all();
  const plan = await columnsOf(['plan']);
  world.db.exec(/*sql*/ `DELETE FROM published_fields`);
  const add = world.db.prepare(/*sql*/ `INSERT INTO published_fields (dataset, id, name, type, element_id, is_retired)
    VALUES (@dataset, @id, @name, @type, @element_id, @is_retired)`);
  for (const row of older) add.run(row);
  const city = await columnsOf(['city']);
  expect(city.at(-2)?.[0]).toBe('property_city');
  expect(plan.map(([, id]) => id)).not.toContain(city.at(-2)?.[1]);
});

test('somebody is erased while an export runs: it is made anew, and never published with that person', async () => {
  const world = openMirror();
  let exports = 0;
  const snapshotId = await exportOne(world, {
    ...world,
    onProgress: (_dataset, done) => {
      if (done > 0) return;
      exports += 1;
      if (exports === 1) erase(world.db, 'ann', 1);
    },
  });
  const { manifest, parts: rows } = await rowsOfSnapshot(world.dataDir, 'persons', snapshotId);
  expect(rows.flat().map(({ person_uuid: uuid }) => uuid)).toEqual(['bob']);
  expect(manifest.erasure_epoch).toBe(1);
  expect(exports).toBe(2);
  expect(readdirSync(datasetFolder(world.dataDir, 'persons'))).toEqual([snapshotId, 'metadata']);
});

test('all datasets of an export are published at once: cut off before, readers find none of them', async () => {
  const world = openMirror({ datasets: ['persons', 'distinct_ids', 'deletions'] });
  await exportMirror(world, world);
  const before = [world.published.listPaths(), world.published.readCurrent()];
  const change = `INSERT INTO changes (dataset, key, op, at) VALUES ('persons', 'ann', ?, '2026-11-20T11:00:00Z')`;
  for (const op of ['upsert', 'delete']) world.db.prepare(change).run(op);
  let manifests = 0;
  const writeManifest: PublishedFiles['writeManifest'] = (manifest) => {
    if ((manifests += 1) === 3) throw new Error('cut off');
    world.published.writeManifest(manifest);
  };
  const published = { ...world.published, writeManifest };
  await expect(exportMirror({ ...world, published }, world)).rejects.toThrow('cut off');
  expect([world.published.listPaths(), world.published.readCurrent()]).toEqual(before);
  expect(manifests).toBe(3);
});

test('erased again and again, an export ends as busy, and has published nothing', async () => {
  const world = openMirror();
  let epoch = 0;
  const exporting = exportMirror(world, {
    ...world,
    onProgress: () => {
      epoch += 1;
      setEpoch(world.db, epoch);
    },
  });
  await expect(exporting).rejects.toMatchObject({ name: 'AppError', code: 'busy', retryable: true });
  expect(() => readdirSync(datasetFolder(world.dataDir, 'persons'))).toThrow('ENOENT');
});

test('a recording that has the id of a person hides no deletion of that person', async () => {
  const world = openMirror({ datasets: ['deletions'] });
  world.db.exec(/*sql*/ `INSERT INTO deletions (dataset, key, person_uuid, reason, deleted_at, request_id) VALUES
    ('persons', 'a', 'a', 'erased', '2026-11-03T00:00:00Z', 'q1'),
    ('recordings', 'a', NULL, 'expired', '2026-11-04T00:00:00Z', NULL)`);
  const snapshotId = await exportOne(world, world);
  const { parts: rows } = await rowsOfSnapshot(world.dataDir, 'deletions', snapshotId);
  expect(rows.flat().map(({ key, dataset }) => [key, dataset])).toEqual([
    ['a', 'persons'],
    ['a', 'recordings'],
  ]);
});

test('deletions are exported, the newest of each key, in the order of keys', async () => {
  const world = openMirror({ datasets: ['deletions'] });
  world.db.exec(/*sql*/ `INSERT INTO deletions (dataset, key, person_uuid, reason, deleted_at, request_id) VALUES
    ('persons', 'b', 'b', 'merged', '2026-11-01T00:00:00.5Z', NULL),
    ('recordings', 'c', 'a', 'expired', '2026-11-02T00:00:00Z', NULL),
    ('persons', 'a', 'a', 'erased', '2026-11-03T00:00:00Z', 'q1'),
    ('persons', 'b', 'b', 'deleted', '2026-11-04T00:00:00Z', NULL)`);
  const snapshotId = await exportOne(world, world);
  const { parts: rows } = await rowsOfSnapshot(world.dataDir, 'deletions', snapshotId);
  const micros = (iso: string): bigint => BigInt(Date.parse(iso)) * 1000n;
  expect(rows.flat()).toEqual([
    {
      key: 'a',
      dataset: 'persons',
      person_uuid: 'a',
      reason: 'erased',
      deleted_at: micros('2026-11-03T00:00:00Z'),
      request_id: 'q1',
      _seq: 3n,
    },
    {
      key: 'b',
      dataset: 'persons',
      person_uuid: 'b',
      reason: 'deleted',
      deleted_at: micros('2026-11-04T00:00:00Z'),
      request_id: null,
      _seq: 4n,
    },
    {
      key: 'c',
      dataset: 'recordings',
      person_uuid: 'a',
      reason: 'expired',
      deleted_at: micros('2026-11-02T00:00:00Z'),
      request_id: null,
      _seq: 2n,
    },
  ]);
});
