import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { PublishedDataset } from '../../contract/datasets.ts';
import { measureFile, sha256 } from '../../core/digest.ts';
import { publishedShapes } from '../columns.ts';
import { type Manifest, type ManifestFile, type TableEntry, snapshotOf } from '../manifest.ts';
import { type PublishedFiles, fileText } from '../published-files.ts';
import { encodeSnapshot, listName } from './encode-snapshot.ts';
import { deletesName, layersOf, manifestsOf, type DeletesFile, type Layer, type Part } from './layers.ts';
import { writePositionDeletes } from './position-deletes.ts';
import {
  addressOf,
  describe,
  digestOfChain,
  isFileOf,
  metadataBytes,
  metadataName,
  type PublishedTable,
  tableFolder,
} from './table-files.ts';
import { type TableMetadata, type TableSnapshot, schemaOf } from './table-metadata.ts';

/** What a table is to show. */
export type TableTask = {
  published: PublishedFiles;
  dataset: PublishedDataset;
  /** Where readers see the folder of the dataset: a path or an address. */
  location: string;
  /** The manifests of the full snapshot and its deltas, as they will be. */
  chain: readonly Manifest[];
  /** The manifest that is written together with the table. The others of the chain are on disk. */
  written: Manifest;
  /** The local path of a part, which may still be in a draft. */
  pathOf: (manifest: Manifest, file: ManifestFile) => string;
  /** The table of until now. */
  previous: PublishedTable | undefined;
  /** Whether the table's older snapshots stay, so that readers can look back. */
  keepsHistory: boolean;
  /**
   * What is new: a full snapshot; the last delta, and the keys whose rows have left since the snapshot before it; or parts that
   * replace others (each by its old name), whose removed rows are in `removedRows`.
   */
  change:
    | { is: 'full' }
    | { is: 'delta'; gone: Iterable<string> }
    | { is: 'rewrite'; snapshotId: string; replaced: ReadonlyMap<string, string> };
};

/** Files of a table that are not published yet: contents, the names of those in the draft, and what CURRENT is to say. */
export type PreparedTable = {
  files: readonly { name: string; content: Buffer }[];
  drafts: readonly string[];
  entry: TableEntry;
};

/** A file of rows to pass over that is not published yet. */
type NewDeletes = DeletesFile & { sha256: string };

/** The numbers and times of the version that is being made, and what it keeps of the one before. */
type NextVersion = {
  version: number;
  sequence: number;
  atMs: number;
  id: number;
  last: TableMetadata | undefined;
  kept: readonly TableSnapshot[];
  full: Manifest;
  newest: Manifest;
};

function nextVersion({ chain, previous, keepsHistory }: TableTask): NextVersion {
  const newest = chain.at(-1);
  const [full] = chain;
  if (!newest || !full) throw new Error('a table of no snapshot');
  const last = previous?.metadata;
  const atMs = Math.max(Date.parse(newest.created_at), (last?.['last-updated-ms'] ?? 0) + 1);
  return {
    version: (previous?.entry.version ?? 0) + 1,
    sequence: Math.max((last?.['last-sequence-number'] ?? 0) + 1, chain.length),
    atMs,
    id: Math.max(atMs, (last?.['current-snapshot-id'] ?? 0) + 1),
    last,
    kept: keepsHistory ? (last?.snapshots ?? []) : [],
    full,
    newest,
  };
}

/** Makes the files of a table, and publishes none. Throws DuckDB's errors. */
export async function prepareTable(connection: DuckDBConnection, task: TableTask): Promise<PreparedTable> {
  const next = nextVersion(task);
  const { id, kept, version, sequence } = next;
  const { chain, previous, change } = task;
  const at = (name: string): string => addressOf(task.location, name);
  const parts = partsOf(task);
  const before =
    previous && change.is !== 'full'
      ? layersOf(previous, next.full, chain.length - (change.is === 'delta' ? 1 : 0))
      : [];
  const deletes = await prepareDeletes(connection, task, { parts, old: before, name: deletesName(id) });
  const earlier = change.is === 'delta' ? before : [];
  const last = chain.length - 1;
  const layers: Layer[] = [
    ...earlier,
    { id, sequence, generations: { from: earlier.length === 0 ? 0 : last, to: last }, deletes },
  ];
  const schemas = schemasOf(task, next);
  const files = encodeSnapshot({
    id,
    parent: kept.at(-1)?.['snapshot-id'],
    sequence,
    schema: schemas.present,
    at,
    ...(await manifestsOf(connection, previous, { parts, layers, at, columns: next.full.columns })),
  });
  const snapshot = snapshotOfVersion(next, { at, parts, layers, schemaId: schemas.present['schema-id'] });
  const metadata = metadataOf(task, next, { at, snapshot, schemas });
  files.push({ name: metadataName(version), content: metadataBytes(metadata) });
  // A reader that has just been told the version before finds it.
  const stays = (name: string): boolean =>
    kept.some((each) => isFileOf(name, each['snapshot-id'])) || (kept.length > 0 && name === metadataName(version - 1));
  const entry: TableEntry = {
    version,
    files: [
      ...(previous?.entry.files.filter(({ name }) => stays(name)) ?? []),
      ...files.map(describe),
      ...(deletes ? [{ name: deletes.name, bytes: deletes.bytes, sha256: deletes.sha256 }] : []),
    ],
  };
  return { files, drafts: deletes ? [deletes.name] : [], entry };
}

/** The schemas that the kept snapshots have, and that of the new one, which may be one of them. */
function schemasOf({ dataset }: TableTask, { last, kept, full }: NextVersion) {
  // A delta has columns of its own, which say what it is.
  const { columns } = full;
  const key = { name: publishedShapes[dataset].key.name, repeats: publishedShapes[dataset].keyRepeats };
  const before = (last?.schemas ?? []).filter((schema) =>
    kept.some((snapshot) => snapshot['schema-id'] === schema['schema-id']),
  );
  const known = before.find(
    (schema) => JSON.stringify(schema) === JSON.stringify(schemaOf(columns, key, schema['schema-id'])),
  );
  const present =
    known ?? schemaOf(columns, key, Math.max(-1, ...(last?.schemas ?? []).map((each) => each['schema-id'])) + 1);
  return { present, all: known ? before : [...before, present] };
}

function snapshotOfVersion(
  { id, sequence, atMs, kept, full, newest }: NextVersion,
  {
    at,
    parts,
    layers,
    schemaId,
  }: { at: (name: string) => string; parts: readonly Part[]; layers: readonly Layer[]; schemaId: number },
): TableSnapshot {
  const deletes = layers.flatMap((layer) => layer.deletes ?? []);
  const parent = kept.at(-1)?.['snapshot-id'];
  return {
    'sequence-number': sequence,
    'snapshot-id': id,
    ...(parent === undefined ? {} : { 'parent-snapshot-id': parent }),
    'timestamp-ms': atMs,
    'manifest-list': at(listName(id)),
    summary: {
      operation: parent === undefined ? 'append' : 'overwrite',
      'total-data-files': String(parts.length),
      'total-records': String(parts.reduce((sum, { file }) => sum + file.rows, 0)),
      'total-delete-files': String(deletes.length),
      'total-position-deletes': String(deletes.reduce((sum, { rows }) => sum + rows, 0)),
      'analytics-mirror.full': full.snapshot_id,
      'analytics-mirror.snapshot': newest.snapshot_id,
    },
    'schema-id': schemaId,
  };
}

function metadataOf(
  { published, location, chain, written }: TableTask,
  { version, sequence, atMs, id, last, kept, full, newest }: NextVersion,
  {
    at,
    snapshot,
    schemas,
  }: { at: (name: string) => string; snapshot: TableSnapshot; schemas: ReturnType<typeof schemasOf> },
): TableMetadata {
  const snapshots = [...kept, snapshot];
  const digests = chain.map((manifest) => ({
    id: manifest.snapshot_id,
    manifest: manifest === written ? sha256(fileText(manifest)) : published.digestOfManifest(snapshotOf(manifest)),
  }));
  return {
    'format-version': 2,
    'table-uuid': last?.['table-uuid'] ?? randomUUID(),
    location,
    'last-sequence-number': sequence,
    'last-updated-ms': atMs,
    'last-column-id': Math.max(
      last?.['last-column-id'] ?? 0,
      ...[...full.columns, ...newest.columns].map((column) => column.element_id ?? column.id),
    ),
    'current-schema-id': schemas.present['schema-id'],
    schemas: schemas.all,
    'default-spec-id': 0,
    'partition-specs': [{ 'spec-id': 0, fields: [] }],
    'last-partition-id': 999,
    'default-sort-order-id': 0,
    'sort-orders': [{ 'order-id': 0, fields: [] }],
    properties: { 'analytics-mirror.manifests': digestOfChain(digests) },
    'current-snapshot-id': id,
    refs: { main: { 'snapshot-id': id, type: 'branch' } },
    snapshots,
    'snapshot-log': snapshots.map((each) => ({
      'timestamp-ms': each['timestamp-ms'],
      'snapshot-id': each['snapshot-id'],
    })),
    'metadata-log':
      last && kept.length > 0
        ? [{ 'timestamp-ms': last['last-updated-ms'], 'metadata-file': at(metadataName(version - 1)) }]
        : [],
  };
}

function partsOf({ location, chain, pathOf, change }: TableTask): Part[] {
  return chain.flatMap((manifest, generation) =>
    manifest.files.map((file): Part => {
      const place = (name: string): string => `${location}/${manifest.snapshot_id}/${name}`;
      const isRewritten = change.is === 'rewrite' && change.snapshotId === manifest.snapshot_id;
      const oldName = isRewritten ? change.replaced.get(file.name) : undefined;
      const isNew = change.is !== 'delta' || generation === chain.length - 1;
      return {
        local: pathOf(manifest, file),
        path: place(file.name),
        oldPath: place(oldName ?? file.name),
        isNew,
        file,
        generation,
      };
    }),
  );
}

async function prepareDeletes(
  connection: DuckDBConnection,
  { published, dataset, chain, change }: TableTask,
  { parts, old, name }: { parts: readonly Part[]; old: readonly Layer[]; name: string },
): Promise<NewDeletes | undefined> {
  if (chain.length < 2 || change.is === 'full') return undefined;
  const folder = tableFolder(dataset);
  const to = join(published.openDraft(folder), name);
  const rows = await writePositionDeletes(connection, {
    parts,
    old: old.flatMap(({ deletes }) => (deletes ? [published.localPath(folder, deletes.name)] : [])),
    superseded: change.is === 'delta' ? { key: publishedShapes[dataset].key.name, gone: change.gone } : null,
    to,
  });
  return rows === 0 ? undefined : { name, rows, ...(await measureFile(to)) };
}
