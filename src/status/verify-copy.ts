import { basename, dirname } from 'node:path/posix';
import type { PublishedDataset } from '../contract/datasets.ts';
import { inBatches } from '../core/batches.ts';
import type { Measured } from '../core/digest.ts';
import type { LedgerReader } from '../ledger/ledger.ts';
import { manifestName, partName, partNumber, snapshotIdPattern, tableFilePattern } from '../snapshot/file-names.ts';
import { hintName, tableFolder } from '../snapshot/iceberg/table-files.ts';
import { currentIds } from '../snapshot/manifest.ts';
import type { PublishedFiles } from '../snapshot/published-files.ts';
import { listPublishedSnapshots } from '../snapshot/published-parts.ts';
import type { CopySource } from './copy-source.ts';

/**
 * What is wrong with a file of a copy. `missing`: readers should load it now. `differs`: it has other bytes than the published
 * one. `replaced`: its snapshot stands without it, since an erasure has put another part in its place. `retired`: it is
 * published no more. `stray`: it was never published, and readers of all Parquet files of its snapshot load it too. `older`: the store keeps an older version of it, with other bytes.
 */
export type CopyProblem = { file: string; problem: 'missing' | 'differs' | 'replaced' | 'retired' | 'stray' | 'older' };

/** How much of a copy was read, whether all names below its place were seen, and what is wrong with it. */
export type CopyCheck = { files: number; bytes: number; isListed: boolean; problems: CopyProblem[] };

/** What a copy is held against. `gone`: snapshots that were published once, newest last. */
export type PublishedCopy = {
  published: PublishedFiles;
  datasets: readonly PublishedDataset[];
  gone: () => readonly string[];
};

/** A published file: whether a copy is whole without it. Readers of a table need its files; others do not. */
type Known = Measured & { need: 'always' | 'table' | 'never' };

const atOnce = 4;
/** Where nothing can be listed, so many old snapshots are asked for. */
const goneMax = 1000;

/**
 * Holds the copy of a consumer against what is published now, byte by byte. Its files are known by the ends of their paths,
 * `<dataset>/<snapshot id>/<file>`, wherever they lie below the place; of other files, only Parquet beside them counts. Older
 * snapshots may be there as long as they are published. A place that cannot be listed is asked for each published file, and for
 * the old ones whose names are known. No file is read further than the published one is long. Throws what the source throws,
 * `storage` where a manifest is damaged, and the signal's reason when aborted.
 */
export async function verifyCopy(
  { published, datasets, gone }: PublishedCopy,
  source: CopySource,
  signal: AbortSignal,
): Promise<CopyCheck> {
  const known = knownFiles(published, datasets);
  const standing = new Set([...known.keys()].map(dirname));
  const listing = await source.list();
  const asked = listing?.paths ?? [...known.keys(), ...oldNames(known, gone().slice(-goneMax))];
  const check: CopyCheck = { files: 0, bytes: 0, isListed: listing !== null, problems: [] };
  const seen = new Set<string>();
  const look = async (file: string): Promise<CopyProblem[]> => {
    const place = placeIn(file, datasets);
    if (place === undefined) return [];
    const expected = known.get(place);
    const stray = partNumber(basename(place)) === undefined && isParquet(place) ? 'stray' : 'replaced';
    const old = standing.has(dirname(place)) && isParquet(place) ? stray : 'retired';
    if (!expected && listing) return [{ file, problem: old }];
    const found = await source.measure(file, expected?.bytes ?? 0);
    if (!found) return [];
    if (!expected) return [{ file, problem: old }];
    check.files += 1;
    check.bytes += found.bytes;
    seen.add(place);
    return found.sha256 === expected.sha256 ? [] : [{ file, problem: 'differs' }];
  };
  check.problems = (await inBatches(asked.toSorted(), { atOnce, signal }, look)).flat();
  for (const file of listing?.older.toSorted() ?? [])
    if (placeIn(file, datasets) !== undefined) check.problems.push({ file, problem: 'older' });
  for (const [file, { need }] of known) {
    const isNeeded = need === 'always' || (need === 'table' && seen.has(`${dirname(file)}/${hintName}`));
    if (isNeeded && !seen.has(file)) check.problems.push({ file, problem: 'missing' });
  }
  return check;
}

/** The snapshots that the ledger says were published once and are gone, by dataset and id, the oldest first. */
export function goneSnapshots(ledger: Pick<LedgerReader, 'entries'>): string[] {
  const gone = new Set<string>();
  for (const entry of ledger.entries())
    for (const { dataset, snapshot_id: id, manifest } of entry.type === 'published' ? entry.snapshots : [])
      if (manifest === null) gone.add(`${dataset}/${id}`);
  return [...gone];
}

/** Every published file by its path below the folder of snapshots. */
function knownFiles(published: PublishedFiles, datasets: readonly PublishedDataset[]): Map<string, Known> {
  const current = published.readCurrent();
  const known = new Map<string, Known>();
  for (const { dataset, snapshotId, manifest } of listPublishedSnapshots(published)) {
    if (!datasets.includes(dataset)) continue;
    const need = currentIds(current, dataset).includes(snapshotId) ? 'always' : 'never';
    for (const { name, bytes, sha256 } of manifest.files)
      known.set(`${dataset}/${snapshotId}/${name}`, { bytes, sha256, need });
    // A copy needs no manifest. One that is there names keys, and erased ones if it is old.
    const measured = published.measure({ dataset, snapshotId }, manifestName);
    if (measured) known.set(`${dataset}/${snapshotId}/${manifestName}`, { ...measured, need: 'never' });
  }
  for (const dataset of datasets) {
    const folder = tableFolder(dataset);
    const hint = published.measure(folder, hintName);
    const files = [...(current.tables?.[dataset]?.files ?? []), ...(hint ? [{ name: hintName, ...hint }] : [])];
    for (const { name, bytes, sha256 } of files)
      known.set(`${dataset}/${folder.snapshotId}/${name}`, { bytes, sha256, need: 'table' });
  }
  return known;
}

/** Old files whose names are known: parts that were replaced, whose numbers are missing, and those of snapshots that are gone. */
function oldNames(known: ReadonlyMap<string, Known>, gone: readonly string[]): string[] {
  const last = new Map<string, number>();
  for (const place of known.keys()) {
    const number = partNumber(basename(place));
    if (number !== undefined) last.set(dirname(place), Math.max(number, last.get(dirname(place)) ?? 0));
  }
  const parts = [...last].flatMap(([folder, count]) =>
    Array.from({ length: count }, (_, index) => `${folder}/${partName(index + 1)}`),
  );
  const ofGone = gone.flatMap((folder) => [`${folder}/${manifestName}`, `${folder}/${partName(1)}`]);
  return [...parts, ...ofGone].filter((place) => !known.has(place));
}

/** The path of a published file at the end of another path; undefined where the name is none of this program. */
function placeIn(path: string, datasets: readonly PublishedDataset[]): string | undefined {
  const [dataset = '', folder = '', name = ''] = path.split('/').slice(-3);
  if (!datasets.some((one) => one === dataset)) return undefined;
  const isPart = snapshotIdPattern.test(folder) && (isParquet(name) || name === manifestName);
  const isOfTable = folder === tableFolder(dataset).snapshotId && (tableFilePattern.test(name) || name === hintName);
  return isPart || isOfTable ? `${dataset}/${folder}/${name}` : undefined;
}

function isParquet(place: string): boolean {
  return place.endsWith('.parquet');
}
