import { z } from 'zod';
import type { ColumnType } from '../columns.ts';
import type { PublishedColumn } from '../manifest.ts';

const count = z.int().min(0);
const noFields = z.strictObject({ fields: z.tuple([]) });

const ListType = z.strictObject({
  type: z.literal('list'),
  'element-id': z.int(),
  element: z.literal('string'),
  'element-required': z.literal(false),
});
/** The columns of a table. */
export const TableSchema = z.strictObject({
  type: z.literal('struct'),
  'schema-id': count,
  'identifier-field-ids': z.array(z.int()),
  fields: z.array(
    z.strictObject({
      id: z.int(),
      name: z.string(),
      required: z.boolean(),
      type: z.union([z.enum(['string', 'long', 'double', 'boolean', 'timestamptz']), ListType]),
    }),
  ),
});
export type TableSchema = z.infer<typeof TableSchema>;

const Snapshot = z.strictObject({
  'sequence-number': count,
  'snapshot-id': count,
  'parent-snapshot-id': count.optional(),
  'timestamp-ms': count,
  'manifest-list': z.string(),
  summary: z.strictObject({
    operation: z.enum(['append', 'overwrite']),
    'total-data-files': z.string().regex(/^\d+$/),
    'total-records': z.string().regex(/^\d+$/),
    'total-delete-files': z.string().regex(/^\d+$/),
    'total-position-deletes': z.string().regex(/^\d+$/),
    'analytics-mirror.full': z.string().regex(/^[\dTZ.]+$/),
    'analytics-mirror.snapshot': z.string().regex(/^[\dTZ.]+$/),
  }),
  'schema-id': count,
});
export type TableSnapshot = z.infer<typeof Snapshot>;

/** `v<N>.metadata.json`: an Iceberg table (format version 2), as this program writes one. */
export const TableMetadata = z.strictObject({
  'format-version': z.literal(2),
  'table-uuid': z.guid(),
  location: z.string(),
  'last-sequence-number': count,
  'last-updated-ms': count,
  'last-column-id': count,
  'current-schema-id': count,
  schemas: z.array(TableSchema).min(1),
  'default-spec-id': z.literal(0),
  'partition-specs': z.tuple([noFields.extend({ 'spec-id': z.literal(0) })]),
  'last-partition-id': z.literal(999),
  'default-sort-order-id': z.literal(0),
  'sort-orders': z.tuple([noFields.extend({ 'order-id': z.literal(0) })]),
  /** `manifests`: the digest of the manifests of all published snapshots that the table shows, older ones too. */
  properties: z.strictObject({ 'analytics-mirror.manifests': z.string().regex(/^[0-9a-f]{64}$/) }),
  'current-snapshot-id': count,
  refs: z.strictObject({ main: z.strictObject({ 'snapshot-id': count, type: z.literal('branch') }) }),
  snapshots: z.array(Snapshot).min(1),
  'snapshot-log': z.array(z.strictObject({ 'timestamp-ms': count, 'snapshot-id': count })),
  'metadata-log': z.array(z.strictObject({ 'timestamp-ms': count, 'metadata-file': z.string() })),
});
export type TableMetadata = z.infer<typeof TableMetadata>;

/** The snapshots of a table that show a published full snapshot and its deltas, oldest first: one for each. */
export function snapshotsOfChain({ snapshots }: TableMetadata, full: string | undefined): TableSnapshot[] {
  return snapshots.filter(({ summary }) => summary['analytics-mirror.full'] === full);
}

const typeNames = {
  string: 'string',
  int64: 'long',
  double: 'double',
  boolean: 'boolean',
  'timestamp[us, UTC]': 'timestamptz',
} as const satisfies Record<Exclude<ColumnType, 'list<string>'>, string>;

/** The schema of a table. `key`: the column that every row has, and each row only once unless it repeats. */
export function schemaOf(
  columns: readonly PublishedColumn[],
  key: { name: string; repeats: boolean },
  schemaId: number,
): TableSchema {
  return {
    type: 'struct',
    'schema-id': schemaId,
    'identifier-field-ids': key.repeats ? [] : columns.filter(({ name }) => name === key.name).map(({ id }) => id),
    fields: columns.map(({ id, name, type, element_id: elementId }) => ({
      id,
      name,
      required: name === key.name,
      type:
        type === 'list<string>'
          ? { type: 'list', 'element-id': elementId ?? 0, element: 'string', 'element-required': false }
          : typeNames[type],
    })),
  };
}
