import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { publishedDatasets, type PublishedDataset } from '../../src/contract/datasets.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { folderSource } from '../../src/status/copy-source.ts';
import { verifyCopy } from '../../src/status/verify-copy.ts';
import { exportCount } from '../export/export-fixture.ts';
import { snapshotsFolder } from '../snapshot/paths.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';

/** Never aborted. */
export const { signal } = new AbortController();

/** Ten distinct ids in three parts, and a consumer's copy of them deep in a folder of its own. */
export async function openCopy() {
  const dataDir = temporaryFolder();
  const { snapshotId } = await exportCount(dataDir, 10, 1);
  const folder = temporaryFolder();
  const copy = join(folder, 'lake', 'mirror');
  const published = publishedFilesIn(dataDir);
  const verify = (datasets: readonly PublishedDataset[] = publishedDatasets) =>
    verifyCopy({ published, datasets, gone: () => [] }, folderSource(folder), signal);
  return {
    dataDir,
    folder,
    published,
    /** Copies what is published now. */
    copy: () => cpSync(snapshotsFolder(dataDir), copy, { recursive: true }),
    path: (name: string, id = snapshotId) => join(copy, 'distinct_ids', id, name),
    place: (name: string, id = snapshotId) => `distinct_ids/${id}/${name}`,
    snapshotId,
    verify,
    /** What is wrong, but with files of tables. */
    problems: async (datasets?: readonly PublishedDataset[]) =>
      (await verify(datasets)).problems.filter(({ file }) => !file.includes('/metadata/')),
  };
}
