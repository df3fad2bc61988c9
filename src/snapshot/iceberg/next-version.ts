import { randomInt, randomUUID } from 'node:crypto';
import type { PublishedDataset } from '../../contract/datasets.ts';
import { sha256 } from '../../core/digest.ts';
import { publishedShapes } from '../columns.ts';
import type { Manifest, ManifestFile } from '../manifest.ts';
import { type PublishedFiles, fileText } from '../published-files.ts';
import { listName } from './encode-snapshot.ts';
import type { TableContent } from './layers.ts';
import { digestOfShown, loggedVersion, type PublishedTable } from './table-files.ts';
import {
  type TableMetadata,
  type TableSchema,
  type TableSnapshot,
  schemaOf,
  snapshotsOfChain,
} from './table-metadata.ts';

/** What a table is to show. */
export type TableTask = {
  published: PublishedFiles;
  dataset: PublishedDataset;
  /** Where readers see the folder of the dataset: a path or an address. */
  location: string;
  /** The manifests of a full snapshot and its deltas, as they will be: the newest ones, or those of which one is rewritten. */
  chain: readonly Manifest[];
  /** The manifest that is written together with the table. The others of the chain are on disk. */
  written: Manifest;
  /** The local path of a part, which may still be in a draft. */
  pathOf: (manifest: Manifest, file: ManifestFile) => string;
  /** The table of until now. Its snapshots stay, so that readers can look back. */
  previous: PublishedTable | undefined;
  /**
   * What is new: a full snapshot; the last delta, and the keys whose rows have left since the snapshot before it; or parts that
   * replace others (each by its old name), whose removed rows are in `removedRows`.
   */
  change:
    | { is: 'full' }
    | { is: 'delta'; gone: Iterable<string> }
    | { is: 'rewrite'; replaced: ReadonlyMap<string, string> };
};

/** A snapshot of the table that is being made: the layer that it shows, its numbers and time, and the one in whose place it comes. */
export type NewSnapshot = {
  layer: number;
  id: number;
  sequence: number;
  atMs: number;
  parent: number | undefined;
  replaces: number | undefined;
};

/** The version that is being made: its new snapshots, those of until now that it keeps or replaces, and its schemas. */
export type NextVersion = {
  atMs: number;
  made: readonly NewSnapshot[];
  kept: readonly TableSnapshot[];
  schemas: { present: TableSchema; all: TableSchema[] };
};

/** Plans the next version of a table: which snapshots it makes, at which times, and which it keeps. */
export function nextVersion(task: TableTask): NextVersion {
  const { location, chain, written, previous, change } = task;
  const last = previous?.metadata;
  // The files of a table that lay elsewhere are named by where they were: its history ends there.
  const kept = last && last.location === location ? last.snapshots : [];
  const nextMs = (last?.['last-updated-ms'] ?? 0) + 1;
  const atMs = change.is === 'rewrite' ? nextMs : Math.max(Date.parse(written.created_at), nextMs);
  const first = chain.indexOf(written);
  // Those that have rewritten parts come again under other ids: readers keep what they have read by id. Ids are random, since an
  // older folder that is put back goes another way from there.
  const old: readonly (TableSnapshot | undefined)[] =
    last && change.is === 'rewrite' ? snapshotsOfChain(last, chain[0]?.snapshot_id).slice(first) : [undefined];
  const ids = old.map(() => randomInt(2 ** 48 - 1));
  const made = old.map((snapshot, nth): NewSnapshot => ({
    layer: first + nth,
    id: ids[nth] ?? 0,
    sequence: snapshot?.['sequence-number'] ?? (last?.['last-sequence-number'] ?? 0) + 1,
    atMs: snapshot?.['timestamp-ms'] ?? atMs,
    parent: nth > 0 ? ids[nth - 1] : snapshot ? snapshot['parent-snapshot-id'] : kept.at(-1)?.['snapshot-id'],
    replaces: snapshot?.['snapshot-id'],
  }));
  return { atMs, made, kept, schemas: schemasOf(task) };
}

/** The schemas of the table, and that of the chain, which may be one that is known. */
function schemasOf({ dataset, chain, previous }: TableTask): NextVersion['schemas'] {
  // A delta has columns of its own, which say what it is.
  const columns = chain[0]?.columns ?? [];
  const key = { name: publishedShapes[dataset].key.name, repeats: publishedShapes[dataset].keyRepeats };
  const before = previous?.metadata.schemas ?? [];
  const known = before.find(
    (schema) => JSON.stringify(schema) === JSON.stringify(schemaOf(columns, key, schema['schema-id'])),
  );
  const present = known ?? schemaOf(columns, key, Math.max(-1, ...before.map((each) => each['schema-id'])) + 1);
  return { present, all: known ? before : [...before, present] };
}

/** The metadata of a version: what it keeps, and the snapshots that it makes of these parts and layers. */
export function metadataOf(
  { published, dataset, location, chain, written, previous, change }: TableTask,
  { atMs, made, kept: old, schemas }: NextVersion,
  { at, parts, layers }: TableContent,
): TableMetadata {
  const last = previous?.metadata;
  const idNow = new Map(made.map(({ replaces, id }) => [replaces, id]));
  const comes = made.map((one) => snapshotOfLayer(one, schemas.present['schema-id'], { at, parts, layers, chain }));
  const kept = old.map((snapshot): TableSnapshot => {
    const parent = snapshot['parent-snapshot-id'];
    const renewed = comes[made.findIndex(({ replaces }) => replaces === snapshot['snapshot-id'])];
    return (
      renewed ?? { ...snapshot, ...(parent !== undefined && { 'parent-snapshot-id': idNow.get(parent) ?? parent }) }
    );
  });
  const snapshots = [...kept, ...comes.filter((_snapshot, nth) => made[nth]?.replaces === undefined)];
  const newest = snapshots.at(-1);
  if (!newest) throw new Error('a table of no snapshot');
  const digestOf = (snapshotId: string): string | null =>
    snapshotId === written.snapshot_id
      ? sha256(fileText(written))
      : published.digestOfManifest({ dataset, snapshotId });
  return {
    'format-version': 2,
    'table-uuid': last?.['table-uuid'] ?? randomUUID(),
    location,
    'last-sequence-number': newest['sequence-number'],
    'last-updated-ms': atMs,
    'last-column-id': Math.max(
      last?.['last-column-id'] ?? 0,
      ...chain.flatMap(({ columns }) => columns.map((column) => column.element_id ?? column.id)),
    ),
    'current-schema-id': newest['schema-id'],
    schemas: schemas.all,
    'default-spec-id': 0,
    'partition-specs': [{ 'spec-id': 0, fields: [] }],
    'last-partition-id': 999,
    'default-sort-order-id': 0,
    'sort-orders': [{ 'order-id': 0, fields: [] }],
    properties: { 'analytics-mirror.manifests': digestOfShown(published, dataset, snapshots, digestOf) },
    'current-snapshot-id': newest['snapshot-id'],
    refs: { main: { 'snapshot-id': newest['snapshot-id'], type: 'branch' } },
    snapshots,
    'snapshot-log': snapshots.map((each) => ({
      'timestamp-ms': each['timestamp-ms'],
      'snapshot-id': each['snapshot-id'],
    })),
    'metadata-log': previous && kept.length > 0 && change.is !== 'rewrite' ? [loggedVersion(previous)] : [],
  };
}

function snapshotOfLayer(
  { layer, id, sequence, atMs, parent }: NewSnapshot,
  schemaId: number,
  { at, parts, layers, chain }: TableContent & Pick<TableTask, 'chain'>,
): TableSnapshot {
  const shown = parts.filter((part) => part.layer <= layer);
  const deletes = layers.slice(0, layer + 1).flatMap((each) => each.deletes ?? []);
  return {
    'sequence-number': sequence,
    'snapshot-id': id,
    ...(parent === undefined ? {} : { 'parent-snapshot-id': parent }),
    'timestamp-ms': atMs,
    'manifest-list': at(listName(id)),
    summary: {
      operation: parent === undefined ? 'append' : 'overwrite',
      'total-data-files': String(shown.length),
      'total-records': String(shown.reduce((sum, { file }) => sum + file.rows, 0)),
      'total-delete-files': String(deletes.length),
      'total-position-deletes': String(deletes.reduce((sum, { rows }) => sum + rows, 0)),
      'analytics-mirror.full': chain[0]?.snapshot_id ?? '',
      'analytics-mirror.snapshot': chain[layer]?.snapshot_id ?? '',
    },
    'schema-id': schemaId,
  };
}
