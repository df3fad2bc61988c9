import type { ManifestFile } from '../manifest.ts';
import { encodeAvro } from './avro.ts';
import { type ManifestEntry, type PartMetrics, manifestListSchema, manifestSchemas } from './manifest-schemas.ts';
import type { TableSchema } from './table-metadata.ts';

/** A manifest: the files that it lists, of one kind. `id`, `sequence`: of the snapshot that has written it. */
export type TableManifest = {
  content: 'parts' | 'deletes';
  id: number;
  sequence: number;
  entries: readonly ManifestEntry[];
};

/** What a snapshot of a table is made of. */
type SnapshotContent = {
  id: number;
  /** The snapshot before it; undefined where the history begins. */
  parent: number | undefined;
  sequence: number;
  schema: TableSchema;
  /** Where readers see a file of the table. */
  at: (name: string) => string;
  /** Its own manifests, which are to be written, and others that stand already. */
  manifests: readonly TableManifest[];
  /** How many bytes a manifest has that stands. */
  bytesOf: (name: string) => number;
};

/** The name of a snapshot's manifest list. */
export function listName(snapshotId: number): string {
  return `${snapshotId}-list.avro`;
}

/** The name of a manifest. */
function manifestName({ id, content }: Pick<TableManifest, 'id' | 'content'>): string {
  return `${id}-${content}.avro`;
}

/** The manifests of a snapshot that are not written yet, and the list of all of them, as files. */
export function encodeSnapshot(snapshot: SnapshotContent): { name: string; content: Buffer }[] {
  const { id, parent, sequence, schema, at, manifests, bytesOf } = snapshot;
  const headers = {
    schema: JSON.stringify(schema),
    'schema-id': String(schema['schema-id']),
    'partition-spec': '[]',
    'partition-spec-id': '0',
    'format-version': '2',
  };
  const files = manifests.flatMap((manifest) => {
    if (manifest.id !== id) return [];
    const content = manifest.content === 'parts' ? 'data' : 'deletes';
    const bytes = encodeAvro({
      schema: manifestSchemas[manifest.content],
      headers: { ...headers, content },
      records: manifest.entries,
    });
    return { name: manifestName(manifest), content: bytes };
  });
  const listHeaders = {
    'snapshot-id': String(id),
    'parent-snapshot-id': parent === undefined ? 'null' : String(parent),
    'sequence-number': String(sequence),
    'format-version': '2',
  };
  const list = encodeAvro({
    schema: manifestListSchema,
    headers: listHeaders,
    records: manifests.map((manifest) => {
      const name = manifestName(manifest);
      return recordOf(manifest, at(name), files.find((file) => file.name === name)?.content.length ?? bytesOf(name));
    }),
  });
  return [...files, { name: listName(id), content: list }];
}

/** A manifest as a list names it: the same in the list of each snapshot. */
function recordOf({ id, sequence, content, entries }: TableManifest, path: string, bytes: number): object {
  const [added, existing] = [1, 0].map((status) => entries.filter((entry) => entry.status === status));
  const rows = (some: readonly ManifestEntry[] = []): number =>
    some.reduce((sum, { data_file: file }) => sum + file.record_count, 0);
  return {
    manifest_path: path,
    manifest_length: bytes,
    partition_spec_id: 0,
    content: content === 'parts' ? 0 : 1,
    sequence_number: sequence,
    min_sequence_number: Math.min(...entries.map((entry) => entry.sequence_number)),
    added_snapshot_id: id,
    added_files_count: added?.length ?? 0,
    existing_files_count: existing?.length ?? 0,
    deleted_files_count: 0,
    added_rows_count: rows(added),
    existing_rows_count: rows(existing),
    deleted_rows_count: 0,
  };
}

/** A part as a manifest lists it. Only its times have bounds: those of texts would name persons. */
export function dataFileOf(
  { path, file }: { path: string; file: ManifestFile },
  metrics: PartMetrics | undefined,
): ManifestEntry['data_file'] {
  return { ...deletesFileOf(path, file.rows, file.bytes), ...metrics, content: 0, sort_order_id: 0 };
}

/** A file of rows to pass over, as a manifest lists it. */
export function deletesFileOf(path: string, rows: number, bytes: number): ManifestEntry['data_file'] {
  return {
    content: 1,
    file_path: path,
    file_format: 'PARQUET',
    partition: {},
    record_count: rows,
    file_size_in_bytes: bytes,
  };
}
