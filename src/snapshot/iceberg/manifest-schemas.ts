/** The schemas of Iceberg's manifests and manifest lists (format version 2), as far as this program writes their fields. */

type Field = { name: string; type: unknown; 'field-id': number; default?: null };

const field = (name: string, id: number, type: unknown): Field => ({ name, type, 'field-id': id });
const optional = (name: string, id: number, type: unknown): Field => ({
  name,
  type: ['null', type],
  'field-id': id,
  default: null,
});
const record = (name: string, fields: readonly Field[]): object => ({ type: 'record', name, fields });

/** A map with numbers as keys, which Avro does not have: a list of pairs. */
const mapOf = (keyId: number, valueId: number, value: string): object => ({
  type: 'array',
  logicalType: 'map',
  items: record(`k${keyId}_v${valueId}`, [field('key', keyId, 'int'), field('value', valueId, value)]),
});

const file = [
  field('content', 134, 'int'),
  field('file_path', 100, 'string'),
  field('file_format', 101, 'string'),
  field('partition', 102, record('r102', [])),
  field('record_count', 103, 'long'),
  field('file_size_in_bytes', 104, 'long'),
];
const metrics = [
  optional('column_sizes', 108, mapOf(117, 118, 'long')),
  optional('value_counts', 109, mapOf(119, 120, 'long')),
  optional('null_value_counts', 110, mapOf(121, 122, 'long')),
  optional('lower_bounds', 125, mapOf(126, 127, 'bytes')),
  optional('upper_bounds', 128, mapOf(129, 130, 'bytes')),
  optional('sort_order_id', 140, 'int'),
];

/** The schemas of manifests, which list parts, or files of rows to pass over: of these nothing is told that may be left out. */
export const manifestSchemas = { parts: entrySchema([...file, ...metrics]), deletes: entrySchema(file) } as const;

function entrySchema(fields: readonly Field[]): string {
  return JSON.stringify(
    record('manifest_entry', [
      field('status', 0, 'int'),
      optional('snapshot_id', 1, 'long'),
      optional('sequence_number', 3, 'long'),
      optional('file_sequence_number', 4, 'long'),
      field('data_file', 2, record('r2', fields)),
    ]),
  );
}

/** The schema of a manifest list, which lists the manifests of a snapshot. */
export const manifestListSchema = JSON.stringify(
  record('manifest_file', [
    field('manifest_path', 500, 'string'),
    field('manifest_length', 501, 'long'),
    field('partition_spec_id', 502, 'int'),
    field('content', 517, 'int'),
    field('sequence_number', 515, 'long'),
    field('min_sequence_number', 516, 'long'),
    field('added_snapshot_id', 503, 'long'),
    field('added_files_count', 504, 'int'),
    field('existing_files_count', 505, 'int'),
    field('deleted_files_count', 506, 'int'),
    field('added_rows_count', 512, 'long'),
    field('existing_rows_count', 513, 'long'),
    field('deleted_rows_count', 514, 'long'),
  ]),
);

/** A pair of a map with numbers as keys. */
type Pair<Value> = { key: number; value: Value };

/** What a part's own footer says of its columns. Lists are left out; times have bounds. */
export type PartMetrics = {
  column_sizes: Pair<number>[];
  value_counts: Pair<number>[];
  null_value_counts: Pair<number>[];
  lower_bounds: Pair<Buffer>[];
  upper_bounds: Pair<Buffer>[];
};

/** A file in a manifest: a part (content 0), or the deleted rows of parts (content 1). */
export type ManifestEntry = {
  /** 0: it was in the table before this snapshot; 1: this snapshot adds it. */
  status: 0 | 1;
  snapshot_id: number;
  sequence_number: number;
  file_sequence_number: number;
  data_file: {
    content: 0 | 1;
    file_path: string;
    file_format: 'PARQUET';
    partition: object;
    record_count: number;
    file_size_in_bytes: number;
    sort_order_id?: 0;
  } & Partial<PartMetrics>;
};
