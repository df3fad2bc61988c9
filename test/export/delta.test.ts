import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import type { Settings } from '../../src/config/settings.ts';
import { listCurrentSnapshots } from '../../src/snapshot/current-snapshots.ts';
import { snapshotFolder, snapshotsFolder } from '../snapshot/paths.ts';
import { rowsOfSnapshot } from '../snapshot/publish-rows.ts';
import { listPublishedSnapshots } from '../../src/snapshot/published-parts.ts';
import { removeUnnamedParts } from '../../src/snapshot/publish.ts';
import { verifySnapshots } from '../../src/snapshot/verify.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { openWorld, perform, type Step, type World } from './exported-world.ts';
import { partsOf, publish } from './delta-histories.ts';

const [ann, bob]: Step[] = [
  { do: 'show persons', persons: [{ number: 1, name: 'a', distinctIds: ['d1'] }] },
  { do: 'show persons', persons: [{ number: 2, name: 'b', distinctIds: ['d2'] }] },
];
const show = (world: World, shown: Step | undefined): void => {
  if (shown && shown.do !== 'export') perform(world, shown);
};

test('files to load are named so that they are found from every folder', async () => {
  const world = openWorld();
  show(world, ann);
  await publish(world, 'full');
  const whole = listCurrentSnapshots(publishedFilesIn(world.dataDir));
  expect(listCurrentSnapshots(publishedFilesIn(relative(process.cwd(), world.dataDir)))).toEqual(whole);
});

test('a delta holds what has changed and nothing else, and stands beside the full snapshot in CURRENT', async () => {
  const world = openWorld();
  show(world, ann);
  expect(await publish(world, 'delta')).toEqual(['full', 'full', 'full']);
  show(world, bob);
  expect(await publish(world, 'delta')).toEqual(['delta', 'full', 'full']);
  const current = publishedFilesIn(world.dataDir).readCurrent().snapshots['persons'];
  const [delta] = current?.deltas ?? [];
  expect(
    publishedFilesIn(world.dataDir).readManifest({ dataset: 'persons', snapshotId: delta?.snapshot_id ?? '' }),
  ).toMatchObject({ kind: 'delta', based_on: current?.snapshot_id, rows: 1, files: [{ rows: 1 }] });
  expect((await verifySnapshots(publishedFilesIn(world.dataDir))).problems).toEqual([]);
  const { manifest, parts } = await rowsOfSnapshot(world.dataDir, 'persons', delta?.snapshot_id ?? '');
  expect(parts.flat()).toMatchObject([{ person_uuid: 'person-2', _seq: BigInt(manifest.seq) }]);
  const { columns } = publishedFilesIn(world.dataDir).readManifest({
    dataset: 'persons',
    snapshotId: current?.snapshot_id ?? '',
  });
  expect(manifest.columns).toEqual(columns);
  await publish(world, 'full');
  expect(publishedFilesIn(world.dataDir).readCurrent().snapshots['persons']?.deltas).toBeUndefined();
});

test.for<[string, (world: World) => Settings]>([
  ['an older mirror was put back', ({ db, settings }) => (db.exec(`DELETE FROM changes`), settings)],
  ['the columns are others', ({ settings }) => ({ ...settings, export: { ...settings.export, promote: ['plan'] } })],
  [
    'there are as many deltas as may be',
    ({ settings }) => ({ ...settings, export: { ...settings.export, deltasMax: 0 } }),
  ],
  // Deltas went on from it, and nobody could load them.
  [
    'a part is gone that a delta would go on from',
    ({ dataDir, settings }) => {
      const [persons] = listCurrentSnapshots(publishedFilesIn(dataDir));
      for (const { path } of persons?.files ?? []) rmSync(path);
      return settings;
    },
  ],
  ['deletions may have left their feed', ({ settings, pass }) => (pass(31 * 86_400_000), settings)],
])('where %s, a full snapshot is published', async ([, change]) => {
  const world = openWorld();
  show(world, ann);
  await publish(world, 'full');
  show(world, bob);
  expect(await publish(world, 'delta', change(world))).toEqual(['full', expect.any(String), 'full']);
  expect(partsOf(world.dataDir, 'persons')).toHaveLength(1);
});

test('where a part is gone that deltas go on from, a full snapshot is published, also of what is unchanged', async () => {
  const world = openWorld();
  show(world, ann);
  await publish(world, 'full');
  show(world, bob);
  await publish(world, 'delta');
  const [full] = listCurrentSnapshots(publishedFilesIn(world.dataDir));
  for (const { path } of full?.files ?? []) rmSync(path);
  await publish(world, 'delta');
  expect(partsOf(world.dataDir, 'persons')).toHaveLength(1);
});

test('where an older mirror was put back and nothing is published any more, numbers go on above the published ones, once', async () => {
  const world = openWorld();
  const seqOf = async (): Promise<number> => {
    await publish(world, 'full');
    return Math.max(...listPublishedSnapshots(publishedFilesIn(world.dataDir)).map(({ manifest }) => manifest.seq));
  };
  show(world, ann);
  expect(await seqOf()).toBe(1);
  perform(world, { do: 'copy' });
  for (const name of ['b', 'c', 'd'])
    show(world, { do: 'show persons', persons: [{ number: 2, name, distinctIds: [] }] });
  const published = await seqOf();
  perform(world, { do: 'restore' });
  rmSync(snapshotsFolder(world.dataDir), { recursive: true });
  const passed = await seqOf();
  expect(passed).toBeGreaterThan(published);
  show(world, bob);
  expect(await seqOf()).toBe(passed + 1);
  // The same copy is put back once more.
  perform(world, { do: 'restore' });
  rmSync(snapshotsFolder(world.dataDir), { recursive: true });
  expect(await seqOf()).toBeGreaterThan(passed + 1);
});

test('a delta without its manifest is damage, and no remnant to be cleared away', async () => {
  const world = openWorld();
  show(world, ann);
  await publish(world, 'full');
  show(world, bob);
  await publish(world, 'delta');
  const [id = ''] = (publishedFilesIn(world.dataDir).readCurrent().snapshots['persons']?.deltas ?? []).map(
    (delta) => delta.snapshot_id,
  );
  const folder = snapshotFolder(world.dataDir, 'persons', id);
  rmSync(join(folder, 'manifest.json'));
  expect((await verifySnapshots(publishedFilesIn(world.dataDir))).problems).toMatchObject([
    { dataset: 'persons', snapshotId: id, file: 'manifest.json', problem: 'damaged' },
  ]);
  expect(() => listPublishedSnapshots(publishedFilesIn(world.dataDir))).toThrow(
    expect.objectContaining({ code: 'storage' }) as Error,
  );
  expect(() => removeUnnamedParts(publishedFilesIn(world.dataDir))).toThrow(
    expect.objectContaining({ code: 'storage' }) as Error,
  );
  expect(readdirSync(folder)).toEqual(['part-00001.parquet']);
});

test('a draft of CURRENT that a kill has left a moment ago is cleared away, and CURRENT stays', async () => {
  const world = openWorld();
  show(world, ann);
  await publish(world, 'full');
  const folder = snapshotsFolder(world.dataDir);
  const before = readdirSync(folder);
  writeFileSync(join(folder, 'CURRENT.json.draft-aa85c9c4-37a1-47a0-9a86-1fb7fbe4606c'), '{');
  removeUnnamedParts(publishedFilesIn(world.dataDir));
  expect(readdirSync(folder)).toEqual(before);
});
