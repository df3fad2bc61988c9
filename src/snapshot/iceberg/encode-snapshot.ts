import type { ManifestFile } from '../manifest.ts';
import { encodeAvro } from './avro.ts';
import { type ManifestEntry, manifestListSchema, manifestSchema } from './manifest-schemas.ts';
import type { PartMetrics } from './part-metrics.ts';
import type { TableSchema } from './table-metadata.ts';

/** What a snapshot of a table is made of. */
type SnapshotContent = {
  id: number;
  /** The snapshot before it; undefined where the history begins. */
  parent: number | undefined;
  sequence: number;
  schema: TableSchema;
  /** Where readers see a file of the table. */
  at: (name: string) => string;
  parts: readonly ManifestEntry[];
  /** The rows to pass over; undefined where there are none. */
  deletes: ManifestEntry | undefined;
};

/** The name of a snapshot's manifest list. */
export function listName(snapshotId: number): string {
  return `${snapshotId}-list.avro`;
}

/** The manifests of a snapshot and their list, as files. */
export function encodeSnapshot(snapshot: SnapshotContent): { name: string; content: Buffer }[] {
  const { id, parent, sequence, schema, at, parts, deletes } = snapshot;
  const headers = {
    schema: JSON.stringify(schema),
    'schema-id': String(schema['schema-id']),
    'partition-spec': '[]',
    'partition-spec-id': '0',
    'format-version': '2',
  };
  const manifests = [
    { name: `${id}-parts.avro`, content: 'data', records: parts },
    ...(deletes ? [{ name: `${id}-deletes.avro`, content: 'deletes', records: [deletes] }] : []),
  ].map(({ name, content, records }) => {
    const bytes = encodeAvro({ schema: manifestSchema, headers: { ...headers, content }, records });
    return { name, content: bytes, records, kind: content === 'data' ? 0 : 1 };
  });
  const records = manifests.map(({ name, content, records: entries, kind }) => {
    const [added, existing] = [1, 0].map((status) => entries.filter((entry) => entry.status === status));
    const rows = (some: readonly ManifestEntry[] = []): number =>
      some.reduce((sum, { data_file: file }) => sum + file.record_count, 0);
    return {
      manifest_path: at(name),
      manifest_length: content.length,
      partition_spec_id: 0,
      content: kind,
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
  });
  const listHeaders = {
    'snapshot-id': String(id),
    'parent-snapshot-id': parent === undefined ? 'null' : String(parent),
    'sequence-number': String(sequence),
    'format-version': '2',
  };
  const list = encodeAvro({ schema: manifestListSchema, headers: listHeaders, records });
  return [...manifests.map(({ name, content }) => ({ name, content })), { name: listName(id), content: list }];
}

/** A part as a manifest lists it. Only its times have bounds: those of texts would name persons. */
export function dataFileOf(
  { path, file }: { path: string; file: ManifestFile },
  metrics: PartMetrics | undefined,
): ManifestEntry['data_file'] {
  return {
    ...deletesFileOf(path, file.rows, file.bytes),
    content: 0,
    column_sizes: metrics?.sizes ?? null,
    value_counts: metrics?.values ?? null,
    null_value_counts: metrics?.nulls ?? null,
    lower_bounds: metrics?.lower ?? null,
    upper_bounds: metrics?.upper ?? null,
  };
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
    column_sizes: null,
    value_counts: null,
    null_value_counts: null,
    lower_bounds: null,
    upper_bounds: null,
    sort_order_id: 0,
  };
}
