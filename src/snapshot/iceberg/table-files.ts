import { sha256 } from '../../core/digest.ts';
import { readJson } from '../../core/exact-json.ts';
import type { SnapshotName } from '../file-names.ts';
import { type Current, type TableEntry, currentIds } from '../manifest.ts';
import type { PublishedFiles } from '../published-files.ts';
import { TableMetadata, type TableSnapshot, snapshotsOfChain } from './table-metadata.ts';

/** The file that names the version of a table that readers without a catalog read. */
export const hintName = 'version-hint.text';

/** The folder of a table's files, as the door to the published files names it. */
export function tableFolder(dataset: string): SnapshotName {
  return { dataset, snapshotId: 'metadata' };
}

/** The name of a version's metadata. */
export function metadataName(version: number): string {
  return `v${version}.metadata.json`;
}

/** Whether a file of a table belongs to one of its snapshots. */
export function isFileOf(name: string, snapshotId: number): boolean {
  return name.startsWith(`${snapshotId}-`);
}

/** The address of a table's file, below the address of the table. */
export function addressOf(location: string, name: string): string {
  return `${location}/metadata/${name}`;
}

/** A table as it is published. */
export type PublishedTable = { entry: TableEntry; metadata: TableMetadata };

/**
 * The table of a dataset that CURRENT names. Undefined where there is none, where one of its files is missing or has other
 * bytes than CURRENT says, and where the table shows other snapshots than CURRENT names, or than are published.
 */
export function readTable(published: PublishedFiles, dataset: string): PublishedTable | undefined {
  const current = published.readCurrent();
  const entry = current.tables?.[dataset];
  if (!entry?.files.every((file) => problemOfFile(published, dataset, file) === undefined)) return undefined;
  const metadata = readMetadata(published, dataset, metadataName(entry.version));
  return metadata && isShownBy(metadata, { published, current, dataset }) ? { entry, metadata } : undefined;
}

/** The metadata in a file of a table; undefined where it cannot be read. */
export function readMetadata(published: PublishedFiles, dataset: string, name: string): TableMetadata | undefined {
  const bytes = published.readFile(tableFolder(dataset), name);
  return bytes && TableMetadata.safeParse(readJson(bytes.toString())).data;
}

/** What the metadata of the next version says of a table as it is: when it was made, and where it stands. */
export function loggedVersion({ entry, metadata }: PublishedTable): TableMetadata['metadata-log'][number] {
  const file = addressOf(metadata.location, metadataName(entry.version));
  return { 'timestamp-ms': metadata['last-updated-ms'], 'metadata-file': file };
}

/** The bytes of a table's metadata. */
export function metadataBytes(metadata: TableMetadata): Buffer {
  return Buffer.from(`${JSON.stringify(metadata, null, 2)}\n`);
}

/** A file of a table as CURRENT names it. */
export function describe({ name, content }: { name: string; content: Buffer }): TableEntry['files'][number] {
  return { name, bytes: content.length, sha256: sha256(content) };
}

/** What is wrong with a file that CURRENT names of a table. */
export function problemOfFile(
  published: PublishedFiles,
  dataset: string,
  { name, bytes, sha256: digest }: TableEntry['files'][number],
): 'missing' | 'size' | 'sha256' | undefined {
  const size = published.sizeOf(tableFolder(dataset), name);
  if (size === undefined) return 'missing';
  if (size !== bytes) return 'size';
  return published.measure(tableFolder(dataset), name)?.sha256 === digest ? undefined : 'sha256';
}

/** Whether a table shows what CURRENT names, and every published snapshot that it shows is as it was then. */
export function isShownBy(
  metadata: TableMetadata,
  { published, current, dataset }: { published: PublishedFiles; current: Current; dataset: string },
): boolean {
  const ids = currentIds(current, dataset);
  const shown = snapshotsOfChain(metadata, ids[0]).map(({ summary }) => summary['analytics-mirror.snapshot']);
  const digest = digestOfShown(published, dataset, metadata.snapshots);
  return String(shown) === String(ids) && metadata.properties['analytics-mirror.manifests'] === digest;
}

/** One digest of the manifests of the published snapshots that those of a table show. */
export function digestOfShown(
  published: PublishedFiles,
  dataset: string,
  snapshots: readonly TableSnapshot[],
  digestOf = (snapshotId: string) => published.digestOfManifest({ dataset, snapshotId }),
): string {
  const ids = snapshots.map(({ summary }) => summary['analytics-mirror.snapshot']);
  return sha256(ids.map((id) => `${id} ${digestOf(id)}\n`).join(''));
}
