import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { sha256File } from '../../src/core/digest.ts';
import { currentPath, snapshotFolder } from './paths.ts';
import { type Manifest } from '../../src/snapshot/manifest.ts';
import {
  problemSentence,
  type SnapshotProblem,
  verifySnapshots,
  verifySnapshotsTwice,
} from '../../src/snapshot/verify.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { exportDataset, exportRequest } from '../export/export-fixture.ts';
import { temporaryFolder } from './temporary-folder.ts';

const dataset = 'distinct_ids';

async function publish(): Promise<{ dataDir: string; folder: string; snapshotId: string }> {
  const dataDir = temporaryFolder();
  const { snapshotId } = await exportDataset(exportRequest(dataDir));
  return { dataDir, folder: snapshotFolder(dataDir, dataset, snapshotId), snapshotId };
}

function rewriteManifest(folder: string, change: (manifest: Manifest) => void): void {
  const path = join(folder, 'manifest.json');
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as Manifest;
  change(manifest);
  writeFileSync(path, JSON.stringify(manifest));
}

async function rehash(folder: string, name: string): Promise<void> {
  const sha256 = await sha256File(join(folder, name));
  const bytes = readFileSync(join(folder, name)).length;
  rewriteManifest(folder, ({ files }) =>
    Object.assign(files.find((file) => file.name === name) ?? {}, { sha256, bytes }),
  );
}

test('finds nothing where all is well, and says how much it read', async () => {
  const { dataDir, snapshotId } = await publish();
  const { files } = publishedFilesIn(dataDir).readManifest({ dataset, snapshotId });
  const table = publishedFilesIn(dataDir).readCurrent().tables?.[dataset]?.files ?? [];
  const bytes = [...files, ...table].reduce((sum, file) => sum + file.bytes, 0);
  // Three parts; the table's manifest, manifest list, metadata and hint.
  expect(await verifySnapshots(publishedFilesIn(dataDir))).toEqual({ files: 7, bytes, problems: [] });
  expect(await verifySnapshots(publishedFilesIn(temporaryFolder()))).toEqual({ files: 0, bytes: 0, problems: [] });
});

test('says that no reader finds what is published, where CURRENT is missing', async () => {
  const { dataDir, snapshotId } = await publish();
  rmSync(currentPath(dataDir));
  const { problems } = await verifySnapshots(publishedFilesIn(dataDir));
  expect(problems).toEqual([{ dataset, snapshotId, file: 'manifest.json', problem: 'unpublished' }]);
  expect(problems.map(problemSentence)).toEqual([
    `snapshots/${dataset}/${snapshotId}/manifest.json stands, but snapshots/CURRENT.json is missing, so that no reader finds it`,
  ]);
});

const part = 'part-00002.parquet';
const damages: [string, SnapshotProblem['problem'], string, (folder: string) => void | Promise<void>][] = [
  [
    'a flipped byte',
    'sha256',
    part,
    (folder) => {
      const bytes = readFileSync(join(folder, part));
      bytes[40] = (bytes[40] ?? 0) ^ 1;
      writeFileSync(join(folder, part), bytes);
    },
  ],
  ['a missing file', 'missing', part, (folder) => rmSync(join(folder, part))],
  ['a truncated file', 'size', part, (folder) => truncateSync(join(folder, part), 100)],
  [
    'a file that is no Parquet, though as long and as hashed',
    'unreadable',
    part,
    async (folder) => {
      writeFileSync(join(folder, part), 'no Parquet');
      await rehash(folder, part);
    },
  ],
  [
    'a manifest that counts other rows than the file',
    'rows',
    part,
    (folder) =>
      rewriteManifest(folder, (manifest) => {
        for (const file of manifest.files) if (file.name === part) file.rows += 1;
        manifest.rows += 1;
      }),
  ],
  [
    'a manifest whose sum is wrong',
    'damaged',
    'manifest.json',
    (folder) =>
      rewriteManifest(folder, (manifest) => {
        manifest.rows += 1;
      }),
  ],
  [
    'a manifest of another snapshot',
    'damaged',
    'manifest.json',
    (folder) =>
      rewriteManifest(folder, (manifest) => {
        manifest.snapshot_id = '20200101T000000.000Z';
      }),
  ],
  ['a missing manifest', 'damaged', 'manifest.json', (folder) => rmSync(join(folder, 'manifest.json'))],
];

test.for(damages)('finds %s', async ([, problem, file, damage]) => {
  const { dataDir, folder, snapshotId } = await publish();
  await damage(folder);
  const { problems } = await verifySnapshots(publishedFilesIn(dataDir));
  expect(problems).toEqual([{ dataset, snapshotId, file, problem }]);
});

test('looks at every generation', async () => {
  const { dataDir, folder, snapshotId } = await publish();
  await exportDataset(exportRequest(dataDir));
  writeFileSync(join(folder, part), Buffer.alloc(readFileSync(join(folder, part)).length));
  const { files, problems } = await verifySnapshots(publishedFilesIn(dataDir));
  expect([files, problems]).toEqual([13, [{ dataset, snapshotId, file: part, problem: 'sha256' }]]);
});

test('a part that no manifest names is told, in a published snapshot and in one that never was', async () => {
  const { dataDir, folder, snapshotId } = await publish();
  const never = '20261120T125509.000Z';
  writeFileSync(join(folder, 'part-00009.parquet'), '');
  cpSync(folder, snapshotFolder(dataDir, dataset, never), { recursive: true });
  for (const name of ['manifest.json', 'part-00002.parquet', 'part-00003.parquet', 'part-00009.parquet'])
    rmSync(join(snapshotFolder(dataDir, dataset, never), name));
  expect((await verifySnapshots(publishedFilesIn(dataDir))).problems).toEqual([
    { dataset, snapshotId, file: 'part-00009.parquet', problem: 'unnamed' },
    { dataset, snapshotId: never, file: 'part-00001.parquet', problem: 'unnamed' },
  ]);
});

test.each(['old.parquet', 'persons/old.parquet', 'persons.bak/part-00001.parquet', '.trash/a', 'SNAPSHOT/old.parquet'])(
  'a file that this program has not written is told: %s',
  async (place) => {
    const { dataDir, folder, snapshotId } = await publish();
    const file = place.replace('SNAPSHOT', `${dataset}/${snapshotId}`);
    const path = join(dataDir, 'snapshots', file);
    mkdirSync(dirname(path), { recursive: true });
    cpSync(join(folder, part), path);
    writeFileSync(join(dataDir, 'snapshots', '.DS_Store'), '');
    const [problem, ...more] = (await verifySnapshots(publishedFilesIn(dataDir))).problems;
    expect([problem, more]).toEqual([
      { dataset: '', snapshotId: '', file: `snapshots/${file}`, problem: 'foreign' },
      [],
    ]);
    expect(problem && problemSentence(problem)).toMatch(`snapshots/${file} is no file of this program`);
  },
);

test('nor is a link, nor what only looks like a draft, and a circle of links ends', async () => {
  const { dataDir, folder } = await publish();
  const root = join(dataDir, 'snapshots');
  symlinkSync(join(folder, part), join(root, 'persons.parquet'));
  for (const name of ['loop', 'loop2']) symlinkSync(root, join(root, name));
  writeFileSync(join(root, 'people.draft-1.csv'), '');
  writeFileSync(join(root, `CURRENT.json.draft-${crypto.randomUUID()}`), '');
  const { problems } = await verifySnapshots(publishedFilesIn(dataDir));
  expect(problems.map(({ file, problem }) => [file, problem])).toEqual(
    ['loop', 'loop2', 'people.draft-1.csv', 'persons.parquet'].map((name) => [`snapshots/${name}`, 'foreign']),
  );
});

test('beside a writer, what is seen once only is no problem', async () => {
  const { dataDir } = await publish();
  const published = publishedFilesIn(dataDir);
  writeFileSync(join(dataDir, 'snapshots', 'stays'), '');
  let isFirst = true;
  const beside = {
    ...published,
    listFiles: (snapshot: { dataset: string; snapshotId: string }) => {
      const passing = isFirst && snapshot.dataset === dataset ? ['part-00009.parquet'] : [];
      isFirst &&= passing.length === 0;
      return [...published.listFiles(snapshot), ...passing];
    },
  };
  const check = await verifySnapshotsTwice(beside);
  expect([isFirst, check.problems.map(({ file }) => file)]).toEqual([false, ['snapshots/stays']]);
});

test('what an export retires between two looks is no problem', async () => {
  const { dataDir, folder } = await publish();
  const published = publishedFilesIn(dataDir);
  const retiring = {
    ...published,
    sizeOf: (...place: Parameters<typeof published.sizeOf>) => {
      const size = published.sizeOf(...place);
      if (place[1] === part) rmSync(dirname(folder), { recursive: true });
      return size;
    },
  };
  rmSync(currentPath(dataDir));
  expect((await verifySnapshotsTwice(retiring)).problems).toEqual([]);
});

test('a damaged CURRENT is an error', async () => {
  const { dataDir } = await publish();
  writeFileSync(currentPath(dataDir), '{}');
  await expect(verifySnapshots(publishedFilesIn(dataDir))).rejects.toMatchObject({ code: 'storage' });
});
