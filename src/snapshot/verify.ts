import { basename } from 'node:path';
import { sha256File } from '../core/digest.ts';
import { AppError, systemCode } from '../core/errors.ts';
import { entriesBelow, isDraft, pathBelow } from '../core/folder.ts';
import { publishedDatasets } from '../contract/datasets.ts';
import { sqlPaths } from './duckdb.ts';
import { type SnapshotName, manifestName } from './file-names.ts';
import { readHint, strayTableFiles } from './iceberg/publish-table.ts';
import { hintName, metadataName, problemOfFile, readTable, tableFolder } from './iceberg/table-files.ts';
import { type Manifest, type ManifestFile, type TableEntry, currentIds } from './manifest.ts';
import { readIfSound } from './published-parts.ts';
import { queryParquet } from './read-parquet.ts';
import { placeOf, type PublishedFiles } from './published-files.ts';
import { unnamedParts } from './publish.ts';

/** What is wrong with a published file, or with one of a table (`snapshotId` is then `metadata`). An `unnamed` part is in no manifest: not read, but it can hold persons. So can a `foreign` file: `file` is its place in the data folder then. */
export type SnapshotProblem = {
  dataset: string;
  snapshotId: string;
  /** `manifest.json`, a part's name, or the name of a table's file. */
  file: string;
  problem: 'damaged' | 'missing' | 'size' | 'sha256' | 'unreadable' | 'rows' | 'unnamed' | 'unpublished' | 'foreign';
};

const problemWords: Readonly<Record<SnapshotProblem['problem'], string>> = {
  damaged: 'cannot be read, or is not of this snapshot',
  missing: 'is missing',
  size: 'has another size than its manifest or CURRENT says',
  sha256: 'has other bytes than its manifest or CURRENT says',
  unreadable: 'matches its manifest, but it cannot be read',
  rows: 'has another number of rows than its manifest says',
  unnamed: 'is named by no manifest and not by CURRENT, and it may hold personal data',
  foreign: 'is no file of this program, and it may hold erased people: remove it',
  unpublished: 'stands, but snapshots/CURRENT.json is missing, so that no reader finds it',
};

/** A problem in one sentence. */
export function problemSentence({ dataset, snapshotId, file: name, problem }: SnapshotProblem): string {
  const place = problem === 'foreign' ? name : placeOf({ dataset, snapshotId, name });
  return `${place} ${problemWords[problem]}`;
}

/** How much was checked, and the problems that were found. */
export type SnapshotCheck = { files: number; bytes: number; problems: SnapshotProblem[] };

/**
 * Reads every file of every generation of every dataset, and compares it with its manifest: size, SHA-256, and the rows that
 * its own footer counts. Compares the files of each table with CURRENT. Also finds parts
 * that no manifest names and files of tables that CURRENT does not name, which a kill can leave, and what somebody else has put there,
 * unless its name begins with a dot. Throws `storage` only when
 * CURRENT itself is damaged; the signal's reason when aborted.
 */
export async function verifySnapshots(published: PublishedFiles, signal?: AbortSignal): Promise<SnapshotCheck> {
  const check: SnapshotCheck = { files: 0, bytes: 0, problems: [] };
  for (const dataset of published.hasCurrent() ? [] : publishedDatasets) {
    const newest = published.listSnapshots(dataset).findLast(({ hasManifest }) => hasManifest);
    if (newest) check.problems.push({ dataset, snapshotId: newest.id, file: manifestName, problem: 'unpublished' });
  }
  for (const { wasPublished, ...snapshot } of snapshotsOf(published)) {
    const found = wasPublished ? await verifySnapshot(published, snapshot, () => 'rows', signal) : undefined;
    for (const { bytes } of found?.manifest?.files ?? []) {
      check.files += 1;
      check.bytes += bytes;
    }
    check.problems.push(...(found?.problems ?? []));
    if (wasPublished && !found?.manifest) continue;
    for (const file of unnamedParts(published, snapshot, found?.manifest))
      check.problems.push({ ...snapshot, file, problem: 'unnamed' });
  }
  for (const place of foreignFiles(published))
    check.problems.push({ dataset: '', snapshotId: '', file: place, problem: 'foreign' });
  const { tables = {} } = published.readCurrent();
  for (const { files } of Object.values(tables)) {
    check.files += files.length + 1;
    check.bytes += files.reduce((sum, { bytes }) => sum + bytes, 0);
  }
  // Without CURRENT nothing says what a table is.
  for (const dataset of published.hasCurrent() ? new Set([...publishedDatasets, ...Object.keys(tables)]) : []) {
    const problems = tableProblems(published, dataset, tables[dataset]);
    const isSound = ![...check.problems, ...problems].some((problem) => problem.dataset === dataset);
    check.problems.push(...problems);
    // A table of snapshots that are not as published is not to be judged.
    const { [dataset]: entry } = tables;
    if (!entry || !isSound || readTable(published, dataset)) continue;
    check.problems.push({ ...tableFolder(dataset), file: metadataName(entry.version), problem: 'damaged' });
  }
  return check;
}

/** Does so beside a writer, who may be between two steps: a problem is one that is seen twice. */
export async function verifySnapshotsTwice(published: PublishedFiles, signal?: AbortSignal): Promise<SnapshotCheck> {
  const first = await verifySnapshots(published, signal);
  if (first.problems.length === 0) return first;
  const seen = new Set(first.problems.map(problemSentence));
  const second = await verifySnapshots(published, signal);
  return { ...second, problems: second.problems.filter((problem) => seen.has(problemSentence(problem))) };
}

/** The paths of files that a manifest or CURRENT names, or should. */
const own = new RegExp(
  `^(?:CURRENT\\.json|(?:${publishedDatasets.join('|')})/(?:\\d{8}T\\d{6}\\.\\d{3}Z/(?:manifest\\.json|part-\\d{5,}\\.parquet)|metadata/[^/]+))$`,
);

/** The places of files, and of links to any, that by their names this program has not put there; none whose name begins with a dot. */
function foreignFiles({ localFolder }: PublishedFiles): string[] {
  return entriesBelow(localFolder)
    .filter(({ name }) => !name.startsWith('.') && !isDraft(name))
    .map((entry) => pathBelow(localFolder, entry))
    .filter((path) => !own.test(path))
    .map((path) => `${basename(localFolder)}/${path}`)
    .toSorted((a, b) => (a < b ? -1 : 1));
}

function tableProblems(published: PublishedFiles, dataset: string, entry: TableEntry | undefined): SnapshotProblem[] {
  const folder = tableFolder(dataset);
  const problems: SnapshotProblem[] = [];
  const add = (file: string, problem: SnapshotProblem['problem'] | undefined): void => {
    if (problem) problems.push({ ...folder, file, problem });
  };
  for (const file of strayTableFiles(published, dataset)) add(file, 'unnamed');
  if (!entry) return problems;
  for (const file of entry.files) add(file.name, problemOfFile(published, dataset, file));
  const hint = readHint(published, dataset);
  if (hint === undefined) add(hintName, 'missing');
  // Killed before the hint was replaced, readers find the version before, whose files still stand.
  else if (published.sizeOf(folder, `v${hint}.metadata.json`) === undefined) add(hintName, 'damaged');
  return problems;
}

/** How much of a part is compared with its manifest: each of these includes the one before it. */
type Depth = 'size' | 'bytes' | 'rows';

/**
 * What is wrong with the manifest of a snapshot, which is undefined then, and with the parts that it names. Throws the signal's
 * reason when aborted.
 */
export async function verifySnapshot(
  published: PublishedFiles,
  snapshot: SnapshotName,
  depthOf: (name: string) => Depth,
  signal?: AbortSignal,
): Promise<{ manifest: Manifest | undefined; problems: SnapshotProblem[] }> {
  const { dataset, snapshotId } = snapshot;
  const manifest = soundManifest(published, snapshot);
  const problems: SnapshotProblem[] = [];
  const add = (file: string, problem: SnapshotProblem['problem']): void =>
    void problems.push({ dataset, snapshotId, file, problem });
  if (!manifest) add(manifestName, 'damaged');
  const toCount: ManifestFile[] = [];
  for (const file of manifest?.files ?? []) {
    signal?.throwIfAborted();
    const depth = depthOf(file.name);
    const problem = await problemOf(published, snapshot, file, depth);
    if (problem) add(file.name, problem);
    else if (depth === 'rows') toCount.push(file);
  }
  const counts = await countRows(
    published,
    toCount.map(({ name }) => published.localPath(snapshot, name)),
  );
  for (const { name, rows } of toCount)
    if (counts.get(name) !== BigInt(rows)) add(name, counts.has(name) ? 'rows' : 'unreadable');
  return { manifest, problems };
}

/** The rows that the footers of parts of one folder count, by the parts' names. A part that cannot be read has none. */
async function countRows(published: PublishedFiles, paths: readonly string[]): Promise<Map<string, unknown>> {
  if (paths.length === 0) return new Map();
  const sql = `SELECT file_name, num_rows FROM parquet_file_metadata(${sqlPaths(paths)})`;
  try {
    const footers = await queryParquet(published.localFolder, sql);
    return new Map(footers.map(({ file_name: path, num_rows: rows }) => [basename(path as string), rows]));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
  }
  // One of them cannot be read: the others can.
  const alone = paths.length === 1 ? [] : paths;
  const counts = new Map<string, unknown>();
  for (const path of alone) for (const [name, rows] of await countRows(published, [path])) counts.set(name, rows);
  return counts;
}

type SnapshotToCheck = SnapshotName & { wasPublished: boolean };

/** Every snapshot on disk, and those that CURRENT names, on disk or not. */
function snapshotsOf(published: PublishedFiles): SnapshotToCheck[] {
  const current = published.readCurrent();
  const names = new Set([...publishedDatasets, ...Object.keys(current.snapshots)]);
  return [...names].flatMap((dataset) => {
    const found = new Map(published.listSnapshots(dataset).map(({ id, hasManifest }) => [id, hasManifest]));
    for (const id of currentIds(current, dataset)) found.set(id, true);
    return [...found].map(([snapshotId, wasPublished]) => ({ dataset, snapshotId, wasPublished }));
  });
}

function soundManifest(published: PublishedFiles, snapshot: SnapshotName): Manifest | undefined {
  const manifest = readIfSound(published, snapshot);
  const rows = manifest?.files.reduce((sum, file) => sum + file.rows, 0);
  const isOfThisSnapshot = manifest?.dataset === snapshot.dataset && manifest.snapshot_id === snapshot.snapshotId;
  return isOfThisSnapshot && rows === manifest.rows ? manifest : undefined;
}

async function problemOf(
  published: PublishedFiles,
  snapshot: SnapshotName,
  file: ManifestFile,
  depth: Depth,
): Promise<SnapshotProblem['problem'] | undefined> {
  const size = published.sizeOf(snapshot, file.name);
  if (size === undefined) return 'missing';
  if (size !== file.bytes) return 'size';
  if (depth === 'size') return undefined;
  try {
    return (await sha256File(published.localPath(snapshot, file.name))) === file.sha256 ? undefined : 'sha256';
  } catch (error) {
    // An export may have retired it since its size was asked for.
    if (systemCode(error) === 'ENOENT') return 'missing';
    throw error;
  }
}
