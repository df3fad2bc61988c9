import { sha256 } from '../../core/digest.ts';
import { readJson } from '../../core/exact-json.ts';
import type { SnapshotName } from '../file-names.ts';
import { type Current, type TableEntry, currentIds } from '../manifest.ts';
import type { PublishedFiles } from '../published-files.ts';
import { TableMetadata } from './table-metadata.ts';

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
 * bytes than CURRENT says, and where the table shows other snapshots than CURRENT names.
 */
export function readTable(published: PublishedFiles, dataset: string): PublishedTable | undefined {
  const current = published.readCurrent();
  const entry = current.tables?.[dataset];
  if (!entry?.files.every((file) => problemOfFile(published, dataset, file) === undefined)) return undefined;
  const metadata = readMetadata(published, dataset, metadataName(entry.version));
  const shown = metadata?.properties['analytics-mirror.manifests'];
  return metadata && shown === digestOfChain(chainOf(published, current, dataset)) ? { entry, metadata } : undefined;
}

/** The metadata in a file of a table; undefined where it cannot be read. */
export function readMetadata(published: PublishedFiles, dataset: string, name: string): TableMetadata | undefined {
  const bytes = published.readFile(tableFolder(dataset), name);
  return bytes && TableMetadata.safeParse(readJson(bytes.toString())).data;
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

/** A snapshot's id, and the SHA-256 of its manifest. */
type ChainLink = { id: string; manifest: string | null };

/** The full snapshot of a dataset that CURRENT names, and its deltas. */
export function chainOf(published: PublishedFiles, current: Current, dataset: string): ChainLink[] {
  return currentIds(current, dataset).map((id) => ({
    id,
    manifest: published.digestOfManifest({ dataset, snapshotId: id }),
  }));
}

/** One digest of a full snapshot and its deltas. A table says with it what it shows. */
export function digestOfChain(chain: readonly ChainLink[]): string {
  return sha256(chain.map(({ id, manifest }) => `${id} ${manifest}\n`).join(''));
}
