import { readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import type { PublishedDataset } from '../contract/datasets.ts';
import { measureFile } from '../core/digest.ts';
import { AppError } from '../core/errors.ts';
import { manifestName, partNumber, snapshotIdPattern } from '../snapshot/file-names.ts';
import { currentIds } from '../snapshot/manifest.ts';
import type { PublishedFiles } from '../snapshot/published-files.ts';
import { listPublishedSnapshots } from '../snapshot/published-parts.ts';
import { storageError } from '../snapshot/storage-error.ts';

/**
 * What is wrong with a file of a copy. `missing`: readers should load it now. `differs`: it has other bytes than the published
 * one. `replaced`: its snapshot stands without it, since an erasure has put another part in its place. `retired`: its snapshot
 * is published no more.
 */
export type CopyProblem = { file: string; problem: 'missing' | 'differs' | 'replaced' | 'retired' };

/** How much of a copy was read, and what is wrong with it. */
export type CopyCheck = { files: number; bytes: number; problems: CopyProblem[] };

/**
 * Holds the copy of a consumer against what is published now, byte by byte. Its files are known by the ends of their paths,
 * `<dataset>/<snapshot id>/<file>`, wherever they lie below the folder; files of other names are not looked at. Older
 * snapshots may be there as long as they are published. Throws `usage` where there is no such folder, `storage` where a file
 * cannot be read or a manifest is damaged, and the signal's reason when aborted.
 */
export async function verifyCopy(
  published: PublishedFiles,
  folder: string,
  datasets: readonly PublishedDataset[],
  signal: AbortSignal,
): Promise<CopyCheck> {
  const current = published.readCurrent();
  const snapshots = listPublishedSnapshots(published).filter(({ dataset }) => datasets.includes(dataset));
  const digests = new Map<string, string | null>();
  const missing = new Set<string>();
  for (const { dataset, snapshotId, manifest } of snapshots) {
    const isCurrent = currentIds(current, dataset).includes(snapshotId);
    const place = (name: string): string => `${dataset}/${snapshotId}/${name}`;
    // A copy needs no manifest. One that is there names keys, and erased ones if it is old.
    digests.set(place(manifestName), published.digestOfManifest({ dataset, snapshotId }));
    for (const { name, sha256 } of manifest.files) {
      digests.set(place(name), sha256);
      if (isCurrent) missing.add(place(name));
    }
  }
  const standing = new Set(snapshots.map(({ dataset, snapshotId }) => `${dataset}/${snapshotId}`));
  const check: CopyCheck = { files: 0, bytes: 0, problems: [] };
  for (const path of filesBelow(folder)) {
    const [dataset = '', snapshotId = '', name = ''] = path.split(sep).slice(-3);
    const isOurs = datasets.some((one) => one === dataset) && snapshotIdPattern.test(snapshotId);
    if (!isOurs || (partNumber(name) === undefined && name !== manifestName)) continue;
    signal.throwIfAborted();
    const place = `${dataset}/${snapshotId}/${name}`;
    const digest = digests.get(place);
    const add = (problem: CopyProblem['problem']): void => void check.problems.push({ file: path, problem });
    if (digest === undefined) add(standing.has(`${dataset}/${snapshotId}`) ? 'replaced' : 'retired');
    else {
      const { bytes, sha256 } = await measureFile(join(folder, path)).catch((error: unknown) => {
        throw storageError(`read ${join(folder, path)}`, error);
      });
      check.files += 1;
      check.bytes += bytes;
      missing.delete(place);
      if (sha256 !== digest) add('differs');
    }
  }
  for (const file of missing) check.problems.push({ file, problem: 'missing' });
  return check;
}

function filesBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
      .toSorted();
  } catch (error) {
    throw new AppError(`cannot read the folder ${folder}`, {
      code: 'usage',
      hint: 'give the folder in which the copy of the published files lies',
      cause: error,
    });
  }
}
