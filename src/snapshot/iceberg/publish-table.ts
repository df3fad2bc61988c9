import { publishedDatasets } from '../../contract/datasets.ts';
import type { Current } from '../manifest.ts';
import type { PublishedFiles } from '../published-files.ts';
import type { PreparedTable } from './prepare-table.ts';
import { type TableMetadata, type TableSnapshot, snapshotsOfChain } from './table-metadata.ts';
import {
  describe,
  digestOfShown,
  hintName,
  isFileOf,
  isShownBy,
  loggedVersion,
  metadataBytes,
  metadataName,
  readMetadata,
  readTable,
  tableFolder,
} from './table-files.ts';

/** Puts the files of a prepared table beside those of the published one. No reader looks at them yet. */
export function addTableFiles(published: PublishedFiles, dataset: string, { files, drafts }: PreparedTable): void {
  const folder = tableFolder(dataset);
  for (const { name, content } of files) published.writeFile(folder, name, content);
  if (drafts.length > 0) published.addParts(folder, drafts);
  published.removeDraft(folder);
}

/** Makes CURRENT name a table of a dataset, or none. Does not write CURRENT. */
export function nameTable(current: Current, dataset: string, table: PreparedTable | undefined): void {
  const { [dataset]: _old, ...others } = current.tables ?? {};
  const tables = table ? { ...others, [dataset]: table.entry } : others;
  if (Object.keys(tables).length > 0) current.tables = tables;
  else delete current.tables;
}

/**
 * Makes the files of a table be those that CURRENT names: writes the hint that readers without a catalog follow, then removes
 * every other file.
 */
export function showTable(published: PublishedFiles, dataset: string): void {
  const entry = published.readCurrent().tables?.[dataset];
  const folder = tableFolder(dataset);
  if (entry && readHint(published, dataset) !== String(entry.version))
    published.writeFile(folder, hintName, Buffer.from(String(entry.version)));
  const stray = strayTableFiles(published, dataset);
  if (entry) published.removeFiles(folder, stray);
  else if (stray.length > 0) published.removeSnapshots(dataset, [folder.snapshotId]);
}

/** What the hint of a table says; undefined where there is none. */
export function readHint(published: PublishedFiles, dataset: string): string | undefined {
  return published.readFile(tableFolder(dataset), hintName)?.toString();
}

/** The files beside a table that CURRENT does not name. */
export function strayTableFiles(published: PublishedFiles, dataset: string): string[] {
  const entry = published.readCurrent().tables?.[dataset];
  const named = new Set(entry ? [hintName, ...entry.files.map(({ name }) => name)] : []);
  return published.listFiles(tableFolder(dataset)).filter((name) => !named.has(name));
}

/**
 * Finishes what a kill has left of tables. A table whose snapshots were rewritten is replaced by the one that was prepared for
 * them; where there is none, nothing is named as the table, and the next export makes it again from a full snapshot.
 */
export function settleTables(published: PublishedFiles): void {
  const current = published.readCurrent();
  for (const dataset of new Set([...publishedDatasets, ...Object.keys(current.tables ?? {})])) {
    const isShown = (version: number): boolean => {
      const metadata = readMetadata(published, dataset, metadataName(version));
      return metadata !== undefined && isShownBy(metadata, { published, current, dataset });
    };
    const version = current.tables?.[dataset]?.version;
    if (version !== undefined && !isShown(version)) {
      const next = version + 1;
      nameTable(current, dataset, isShown(next) ? preparedTable(published, dataset, next) : undefined);
      published.writeCurrent(current);
    }
    showTable(published, dataset);
  }
}

/**
 * Makes a table forget its snapshots of published snapshots that are about to be deleted, and of the deltas that continue these.
 * The newest one is not among them.
 */
export function forgetSnapshots(published: PublishedFiles, dataset: string, ids: readonly string[]): void {
  const table = ids.length > 0 ? readTable(published, dataset) : undefined;
  if (!table) return;
  const { entry, metadata } = table;
  const isGone = (snapshot: TableSnapshot): boolean => {
    const chain = snapshotsOfChain(metadata, snapshot.summary['analytics-mirror.full']);
    const upToIt = chain.slice(0, chain.indexOf(snapshot) + 1);
    return upToIt.some(({ summary }) => ids.includes(summary['analytics-mirror.snapshot']));
  };
  const gone = metadata.snapshots.filter(isGone).map((snapshot) => snapshot['snapshot-id']);
  if (gone.length === 0) return;
  const snapshots = metadata.snapshots.filter((snapshot) => !isGone(snapshot));
  const next: TableMetadata = {
    ...metadata,
    schemas: metadata.schemas.filter((schema) => snapshots.some((each) => each['schema-id'] === schema['schema-id'])),
    properties: { 'analytics-mirror.manifests': digestOfShown(published, dataset, snapshots) },
    snapshots,
    'snapshot-log': metadata['snapshot-log'].filter((log) => !gone.includes(log['snapshot-id'])),
    'metadata-log': [loggedVersion(table)],
  };
  const stays = (name: string): boolean =>
    name === metadataName(entry.version) ||
    (!/^v\d/.test(name) && !gone.some((snapshotId) => isFileOf(name, snapshotId)));
  const file = { name: metadataName(entry.version + 1), content: metadataBytes(next) };
  const prepared: PreparedTable = {
    files: [file],
    drafts: [],
    entry: { version: entry.version + 1, files: [...entry.files.filter(({ name }) => stays(name)), describe(file)] },
  };
  addTableFiles(published, dataset, prepared);
  const current = published.readCurrent();
  nameTable(current, dataset, prepared);
  published.writeCurrent(current);
  showTable(published, dataset);
}

/** A table that was prepared for a rewrite. */
function preparedTable(published: PublishedFiles, dataset: string, version: number): PreparedTable | undefined {
  const folder = tableFolder(dataset);
  const shown = readMetadata(published, dataset, metadataName(version))?.snapshots ?? [];
  const names = published
    .listFiles(folder)
    .filter(
      (name) => name === metadataName(version) || shown.some((snapshot) => isFileOf(name, snapshot['snapshot-id'])),
    );
  const files = names.flatMap((name) => {
    const measured = published.measure(folder, name);
    return measured ? [{ name, ...measured }] : [];
  });
  return { files: [], drafts: [], entry: { version, files } };
}
