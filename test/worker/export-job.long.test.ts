import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { settingsWith } from '../config/settings-with.ts';
import { publishedDatasets, type PublishedDataset } from '../../src/contract/datasets.ts';
import { openDatabaseReadOnly } from '../../src/mirror/database.ts';
import { prepareWriteRows } from '../../src/mirror/write-rows.ts';
import type { Columns } from '../../src/contract/tolerant-reader.ts';
import { finishPass, startPass, type IncompleteReason } from '../../src/mirror/passes.ts';
import type { Manifest } from '../../src/snapshot/manifest.ts';
import { listPublishedParts } from '../../src/snapshot/published-parts.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { readProjectCondition } from '../../src/worker/read-project.ts';
import { runExportJob } from '../../src/worker/export-job.ts';
import { jobContext } from '../job/job-context.ts';
import { openTestMirror, stillClock } from '../mirror/open-test-mirror.ts';
import { readWithHyparquet } from '../snapshot/parquet-readers.ts';
import { personRow } from '../snapshot/rows.ts';

const at = '2026-01-01T00:00:00.000Z';

function openExport(more: object = {}) {
  const { db, dataDir } = openTestMirror();
  const settings = settingsWith({ dataDir, ...more });
  return {
    pass: (
      dataset: 'persons' | 'recordings' | 'playlists',
      reason: IncompleteReason | null,
      mode: 'full' | 'head' = 'full',
    ): void => {
      finishPass(db, startPass(db, { dataset, mode, plan: '{}', at }), reason, at);
    },
    run: async (datasets: readonly PublishedDataset[] | null = publishedDatasets, kind: 'full' | 'delta' = 'full') => {
      const source = openDatabaseReadOnly(dataDir);
      try {
        return await runExportJob(jobContext({ db, settings, clock: stillClock }, {}), { datasets, kind, source });
      } finally {
        source.close();
      }
    },
    db,
    dataDir,
    manifestOf: (dataset: PublishedDataset): Manifest => {
      const published = publishedFilesIn(dataDir);
      const snapshotId = published.readCurrent().snapshots[dataset]?.snapshot_id ?? '';
      return published.readManifest({ dataset, snapshotId });
    },
    published: () => Object.keys(publishedFilesIn(dataDir).readCurrent().snapshots).toSorted(),
  };
}

test.each(['full', 'delta'] as const)(
  'a %s export publishes no list that was never seen whole, and does the others',
  async (kind) => {
    const { pass, run, published } = openExport();
    expect(await run(undefined, kind)).toMatchObject({
      outcome: 'incomplete',
      snapshots: [],
      neverComplete: publishedDatasets,
    });
    pass('persons', 'seam_not_joined');
    pass('persons', null, 'head');
    pass('recordings', null);
    expect(await run(undefined, kind)).toMatchObject({
      outcome: 'incomplete',
      snapshots: [{ dataset: 'recordings' }],
      neverComplete: ['persons', 'playlists', 'distinct_ids', 'playlist_recordings', 'deletions', 'passes', 'fence'],
    });
    expect(published()).toEqual(['recordings']);
    expect(await run(['recordings'], kind)).toMatchObject({ outcome: 'done', neverComplete: [] });
  },
);

test('all datasets are those of playlists too where some are configured, or were read as a whole', async () => {
  const without = openExport();
  without.pass('persons', null);
  without.pass('recordings', null);
  expect(await without.run(null)).toMatchObject({ outcome: 'done', neverComplete: [] });
  expect(without.published()).toEqual(['deletions', 'distinct_ids', 'passes', 'persons', 'recordings']);
  without.pass('playlists', null);
  expect(await without.run(null)).toMatchObject({ outcome: 'done' });
  expect(without.published()).toHaveLength(publishedDatasets.length - 1);
  const configured = openExport({ 'playlists.shortIds': ['list'] });
  const asked = publishedDatasets.filter((dataset) => dataset !== 'fence');
  expect(await configured.run(null)).toMatchObject({ outcome: 'incomplete', neverComplete: asked });
});

test('from an older copy of the mirror, lists that are not named come along: deletions with new numbers would take rows from them', async () => {
  const { pass, run, db, manifestOf } = openExport();
  const show = (uuid: string): void => {
    prepareWriteRows(db, 'persons')({ rows: [personRow(uuid)], quarantined: [], at }, 1);
  };
  const names = async (): Promise<string[]> =>
    (await run(['recordings'], 'delta')).snapshots.map(({ dataset }) => dataset);
  show('p1');
  pass('persons', null);
  pass('recordings', null);
  await run(null, 'delta');
  show('p2');
  await run(null, 'delta');
  expect(await names()).toEqual(['recordings', 'deletions', 'passes']);
  db.exec(`DELETE FROM changes WHERE seq > 1; UPDATE sqlite_sequence SET seq = 1 WHERE name = 'changes'`);
  const before = manifestOf('persons').seq;
  expect(await names()).toEqual(['persons', 'recordings', 'distinct_ids', 'deletions', 'passes']);
  expect(manifestOf('persons').seq).toBeGreaterThan(before);
  expect(await names()).toEqual(['recordings', 'deletions', 'passes']);
});

test('the fence is published where a consumer gets it, with every list, and anew when it has changed', async () => {
  const { dataDir, pass, run, published, manifestOf } = openExport({
    'export.consumers': ['warehouse'],
    'export.fence': [{ consumer: 'warehouse' }],
  });
  pass('persons', null);
  await run(['persons']);
  expect(published()).toContain('fence');
  expect(manifestOf('fence').rows).toBe(3);
  const since = async (kind?: 'full' | 'delta') =>
    (await run(['persons'], kind)).snapshots.find(({ dataset }) => dataset === 'fence')?.unchangedSince;
  expect(await since()).toEqual(expect.any(String));
  expect(await since('delta')).toEqual(expect.any(String));
  const { snapshot_id: id, files } = manifestOf('fence');
  const rows = await readWithHyparquet(join(dataDir, 'snapshots/fence', id, files[0]?.name ?? ''));
  expect(JSON.stringify(rows, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))).toContain(
    'warehouse',
  );
  rmSync(join(dataDir, 'keys/fence-warehouse.key'));
  expect(await since('delta')).toBeNull();
});

test('after a complete pass, an incomplete one is published with its verdict', async () => {
  const { pass, run } = openExport();
  pass('persons', null);
  pass('persons', 'seam_not_joined');
  expect(await run(['persons'])).toMatchObject({
    outcome: 'incomplete',
    snapshots: [{ dataset: 'persons', verdict: 'incomplete' }, { dataset: 'deletions' }, { dataset: 'passes' }],
    neverComplete: [],
  });
});

test('an unchanged mirror is not published again; an incomplete pass since then is told all the same', async () => {
  const { db, pass, run, manifestOf } = openExport();
  pass('persons', null);
  const first = await run(['persons']);
  expect(first).toMatchObject({
    outcome: 'done',
    snapshots: [{ unchangedSince: null }, { dataset: 'deletions' }, { dataset: 'passes' }],
  });
  const again = { snapshotId: first.snapshots[0]?.snapshotId, unchangedSince: expect.any(String) as string };
  pass('persons', 'seam_not_joined');
  const alone = { verdict: 'incomplete', ...again };
  // Deltas and copies elsewhere lose rows by `deletions`.
  for (const kind of ['full', 'delta'] as const)
    expect(await run(['persons'], kind)).toMatchObject({
      outcome: 'incomplete',
      snapshots: [alone, { dataset: 'deletions' }, { dataset: 'passes' }],
    });
  pass('persons', null);
  expect(await run(['persons'])).toMatchObject({
    outcome: 'done',
    snapshots: [{ verdict: 'complete', ...again }, {}, {}],
  });
  expect((await run(['distinct_ids'])).snapshots).toHaveLength(1);
  db.exec(`INSERT INTO changes (dataset, key, op, at) VALUES ('persons', 'a', 'upsert', '${at}')`);
  const passId = startPass(db, { dataset: 'persons', mode: 'full', plan: '{}', at });
  const together = (await run(['persons'])).snapshots.map(({ dataset }) => dataset);
  expect(together).toEqual(['persons', 'distinct_ids', 'deletions', 'passes']);
  // The rows are not those of the pass that has ended.
  expect(manifestOf('persons')).toMatchObject({ pass: { id: passId - 1 }, unfinished_pass: passId });
});

test('passes are published anew when one has ended: typed, without superseded ones, and nothing of playlists that were not told', async () => {
  const { dataDir, pass, run, db, manifestOf } = openExport();
  const unchangedSince = async (kind: 'full' | 'delta'): Promise<unknown> =>
    (await run(['persons'], kind)).snapshots.find(({ dataset }) => dataset === 'passes')?.unchangedSince;
  pass('persons', null);
  pass('recordings', 'head', 'head');
  // Superseded by the next one: never judged.
  startPass(db, { dataset: 'playlists', mode: 'full', plan: '{"shortIds":["secret"]}', at });
  pass('playlists', 'not_found');
  expect(await unchangedSince('full')).toBeNull();
  expect(await unchangedSince('full')).toEqual(expect.any(String));
  expect(await unchangedSince('delta')).toEqual(expect.any(String));
  startPass(db, { dataset: 'persons', mode: 'full', plan: '{}', at });
  expect(await unchangedSince('delta')).toEqual(expect.any(String));
  pass('recordings', 'seam_not_joined');
  expect(await unchangedSince('delta')).toBeNull();
  // Of as many rows, as in an older mirror that has gone on.
  db.exec(`UPDATE passes SET finished_at = '2026-01-02T00:00:00.000Z' WHERE id = (SELECT max(id) FROM passes)`);
  expect(await unchangedSince('full')).toBeNull();
  const { snapshot_id: id, files, newest_pass: newest } = manifestOf('passes');
  expect(newest).toEqual({ id: 6, finished_at: '2026-01-02T00:00:00.000Z' });
  const path = join(dataDir, 'snapshots', 'passes', id, files[0]?.name ?? '');
  const rows = await readWithHyparquet(path);
  expect(rows.map((row) => [row['pass_id'], row['dataset'], row['mode'], row['verdict'], row['reason']])).toEqual([
    [1n, 'persons', 'full', 'complete', null],
    [2n, 'recordings', 'head', 'incomplete', 'head'],
    [4n, 'playlists', 'full', 'incomplete', 'not_found'],
    [6n, 'recordings', 'full', 'incomplete', 'seam_not_joined'],
  ]);
  expect(rows[0]).toMatchObject({ rows_seen: 0n, count_reported: null, seams: 0n, step_backs: 0n });
  expect(JSON.stringify(rows, (_key, value: unknown) => String(value))).not.toContain('secret');
});

test('under `listed`, a property that appears at night is told in the morning, and is in no file', async () => {
  const { db, dataDir, pass, run } = openExport({ 'export.properties': 'listed', 'export.promote': ['plan'] });
  const show = (properties: object): void => {
    const row: Columns = { ...personRow('p1', { properties: JSON.stringify(properties) }) };
    db.transaction(() => prepareWriteRows(db, 'persons')({ rows: [row], quarantined: [], at }, 1))();
  };
  const settings = settingsWith({ dataDir, 'export.properties': 'listed' });
  const told = () => readProjectCondition(db, { name: 'shop', ...settings }, stillClock.now()).newProperties;
  show({ plan: 'pro' });
  pass('persons', null);
  await run(['persons']);
  expect(told()).toBe(0);
  show({ plan: 'pro', passport: 'SECRET' });
  db.exec(
    `UPDATE properties_seen SET began_at = '2020-01-01T00:00:00.000Z'; UPDATE properties SET first_seen_at = '2020-01-01T00:00:00.000Z'`,
  );
  expect((await run(['persons'], 'delta')).snapshots).toMatchObject([{ kind: 'delta', rows: 1 }, {}, {}]);
  expect(told()).toBe(1);
  const parts = listPublishedParts(publishedFilesIn(dataDir)).filter(({ dataset }) => dataset === 'persons');
  const shown = (await Promise.all(parts.map(({ path }) => readWithHyparquet(path)))).flat();
  expect(shown.map((row) => row['properties'])).toEqual(['{"plan":"pro"}', '{"plan":"pro"}']);
});
