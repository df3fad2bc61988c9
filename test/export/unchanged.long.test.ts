import { rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Settings } from '../../src/config/settings.ts';
import { isoTime } from '../../src/core/clock.ts';
import { publishedDatasets } from '../../src/contract/datasets.ts';
import type { MirrorExport } from '../../src/export/mirror-export.ts';
import { expireDeletionFeed } from '../../src/mirror/feeds.ts';
import { setEpoch } from '../../src/mirror/fence.ts';
import { finishPass, startPass } from '../../src/mirror/passes.ts';
import { snapshotFolder, snapshotsFolder } from '../snapshot/paths.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { listAll } from './export-fixture.ts';
import { exportAll, openWorld, perform, type Step, type World } from './exported-world.ts';
import { reuseDuckDb } from '../snapshot/one-duckdb.ts';

reuseDuckDb();

type Change = Exclude<Step, { do: 'export' }>;
const ann: Change = { do: 'show persons', persons: [{ number: 1, name: 'ann', distinctIds: ['d1'] }] };
const bob: Change = { do: 'show persons', persons: [{ number: 2, name: 'bob', distinctIds: ['d2'] }] };
const recording: Change = { do: 'show recordings', recordings: [{ number: 1, person: 1, clicks: 1 }] };
const bobLeaves: Change = { do: 'remove', dataset: 'persons', number: 2 };

/** A mirror of two persons, one of whom is recorded, and of one who has left; everything is published. */
async function openPublished(): Promise<World> {
  const world = openWorld();
  for (const change of [ann, bob, bobLeaves, bob, recording]) perform(world, change);
  await exportAll(world, 'full', undefined, publishedDatasets);
  return world;
}

const publishedAnew = (results: readonly MirrorExport[]): string[] =>
  results.flatMap(({ dataset, kind, unchangedSince }) => (unchangedSince === null ? [`${kind} ${dataset}`] : []));

function withExport({ settings }: World, changes: Partial<Settings['export']>): Settings {
  return { ...settings, export: { ...settings.export, ...changes } };
}

test.for(['full', 'delta'] as const)(
  'of an unchanged mirror, a %s export publishes nothing new and says since when',
  async (kind) => {
    const world = await openPublished();
    const before = listAll(snapshotsFolder(world.dataDir));
    const results = await exportAll(world, kind, undefined, publishedDatasets);
    expect(listAll(snapshotsFolder(world.dataDir))).toEqual(before);
    for (const { dataset, snapshotId, rows, files, bytes, unchangedSince } of results) {
      const manifest = publishedFilesIn(world.dataDir).readManifest({ dataset, snapshotId });
      expect({ rows, files, bytes, unchangedSince }).toEqual({
        rows: manifest.rows,
        files: manifest.files.length,
        bytes: manifest.files.reduce((sum, file) => sum + file.bytes, 0),
        unchangedSince: manifest.created_at,
      });
    }
  },
);

test.for<[string, (world: World) => Settings | void, string[]]>([
  [
    'a person changed',
    (world) => perform(world, { do: 'show persons', persons: [{ number: 1, name: 'b', distinctIds: ['d1'] }] }),
    ['persons', 'distinct_ids'],
  ],
  ['a person left', (world) => perform(world, bobLeaves), ['persons', 'distinct_ids', 'deletions']],
  [
    'a person left and came back',
    (world) => [bobLeaves, bob].forEach((change) => perform(world, change)),
    ['persons', 'distinct_ids', 'deletions'],
  ],
  [
    'a recording changed',
    (world) => perform(world, { ...recording, recordings: [{ number: 1, person: 1, clicks: 2 }] }),
    ['recordings'],
  ],
  [
    'deletions were forgotten',
    ({ db, clock }) => void expireDeletionFeed(db, { before: isoTime(clock.now()), through: Infinity }),
    ['deletions'],
  ],
  ['somebody was erased', ({ db }) => setEpoch(db, 1), [...publishedDatasets]],
  [
    'an older mirror was put back',
    ({ db }) => void db.exec('DELETE FROM changes'),
    // The entries of the fence tell by themselves that they are the same.
    publishedDatasets.filter((one) => one !== 'fence'),
  ],
  ['another property is promoted', (world) => withExport(world, { promote: ['plan'] }), ['persons', 'recordings']],
  ['a property is masked', (world) => withExport(world, { mask: ['plan'] }), ['persons', 'recordings']],
  ['parts have another size', (world) => withExport(world, { partRows: 7 }), [...publishedDatasets]],
  [
    'the newest pass is the first complete one',
    ({ db }) => {
      finishPass(
        db,
        startPass(db, { dataset: 'persons', mode: 'full', plan: '{}', at: '2026-11-01T00:00:00.000Z' }),
        null,
        '2026-11-01T00:00:00.000Z',
      );
    },
    ['persons', 'distinct_ids', 'deletions', 'passes', 'fence'],
  ],
  [
    'a part is damaged',
    ({ dataDir }) => {
      const snapshotId = publishedFilesIn(dataDir).readCurrent().snapshots['persons']?.snapshot_id ?? '';
      truncateSync(join(snapshotFolder(dataDir, 'persons', snapshotId), 'part-00001.parquet'), 40);
    },
    ['persons'],
  ],
  [
    'a manifest is missing',
    ({ dataDir }) => {
      const snapshotId = publishedFilesIn(dataDir).readCurrent().snapshots['recordings']?.snapshot_id ?? '';
      rmSync(join(snapshotFolder(dataDir, 'recordings', snapshotId), 'manifest.json'));
    },
    ['recordings'],
  ],
])('since %s, a full export publishes that', async ([, change, expected]) => {
  const world = await openPublished();
  const settings = change(world) ?? world.settings;
  const results = await exportAll(world, 'full', settings, publishedDatasets);
  expect(publishedAnew(results)).toEqual(
    publishedDatasets.filter((one) => expected.includes(one)).map((one) => `full ${one}`),
  );
  expect(publishedAnew(await exportAll(world, 'full', settings, publishedDatasets))).toEqual([]);
});

test('a delta is published when rows have changed or left, and at no other time', async () => {
  const world = await openPublished();
  perform(world, bobLeaves);
  expect(publishedAnew(await exportAll(world, 'delta'))).toEqual(['delta persons', 'full deletions']);
  perform(world, bob);
  expect(publishedAnew(await exportAll(world, 'delta'))).toEqual(['delta persons']);
  expect(publishedAnew(await exportAll(world, 'delta'))).toEqual([]);
  // The deltas have changed since the full snapshot: it is put together again.
  expect(publishedAnew(await exportAll(world, 'full'))).toEqual(['full persons']);
});

test('a chain of deltas that is long enough is left alone as long as nothing changes', async () => {
  const world = await openPublished();
  perform(world, ann);
  perform(world, { do: 'show persons', persons: [{ number: 1, name: 'other', distinctIds: ['d1'] }] });
  const settings = withExport(world, { deltasMax: 1 });
  expect(publishedAnew(await exportAll(world, 'delta', settings))).toEqual(['delta persons']);
  expect(publishedAnew(await exportAll(world, 'delta', settings))).toEqual([]);
});

test('snapshots that show what is masked now go as soon as readers had one export to let them go', async () => {
  const world = await openPublished();
  const masked = withExport(world, { mask: ['plan'], keep: 5 });
  const [persons] = await exportAll(world, 'full', masked);
  const ids = (): string[] =>
    publishedFilesIn(world.dataDir)
      .listSnapshots('persons')
      .map(({ id }) => id);
  expect(ids()).toHaveLength(2);
  const [again] = await exportAll(world, 'full', masked);
  expect(again).toMatchObject({ snapshotId: persons?.snapshotId, removed: [expect.any(String)] });
  expect(ids()).toEqual([persons?.snapshotId]);
});

test('an unchanged mirror still removes what is beyond `export.keep`', async () => {
  const world = await openPublished();
  perform(world, { do: 'show persons', persons: [{ number: 1, name: 'other', distinctIds: ['d1'] }] });
  await exportAll(world, 'full');
  const [persons] = await exportAll(world, 'full', withExport(world, { keep: 1 }));
  expect(persons).toMatchObject({ unchangedSince: expect.any(String), removed: [expect.any(String)] });
  expect(publishedFilesIn(world.dataDir).listSnapshots('persons')).toHaveLength(1);
});
