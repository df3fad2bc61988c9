import { z } from 'zod';
import { Promotion } from '../config/settings.ts';
import { AppError } from '../core/errors.ts';
import { readJson } from '../core/exact-json.ts';
import { columnTypes } from './columns.ts';
import { type SnapshotName, partPattern, snapshotIdPattern, tableFilePattern } from './file-names.ts';

const snapshotId = z.string().regex(snapshotIdPattern);
const count = z.int().min(0);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** One part of a snapshot. */
export const ManifestFile = z.strictObject({ name: z.string().regex(partPattern), rows: count, bytes: count, sha256 });
export type ManifestFile = z.infer<typeof ManifestFile>;

const fieldId = z.int().min(1);
/** A column of a snapshot. Its number, and that of its list's elements, stand in the files too. */
const PublishedColumn = z.strictObject({
  name: z.string(),
  type: z.enum(columnTypes),
  id: fieldId,
  element_id: fieldId.optional(),
});
export type PublishedColumn = z.infer<typeof PublishedColumn>;

/** A property that was left out, or hashed; `key` is the check value of the key that hashed it. */
const DecidedMask = z.union([
  z.string(),
  z.strictObject({ property: z.string(), how: z.literal('hash'), key: z.string().regex(/^[0-9a-f]{32}$/) }),
]);

/** `manifest.json`: all that a reader needs to know of a snapshot and to check it. A public format. */
export const Manifest = z.strictObject({
  format_version: z.literal(1),
  dataset: z.string().regex(/^[a-z_]+$/),
  snapshot_id: snapshotId,
  kind: z.enum(['full', 'delta']),
  created_at: z.iso.datetime(),
  /**
   * The newest full walk of the service's list that has ended; null when there was none yet. `rows_seen`: the different rows that it
   * saw; `count_reported`: those that the service counted, null where it does not count.
   */
  pass: z
    .strictObject({
      id: z.int(),
      verdict: z.enum(['complete', 'incomplete']),
      finished_at: z.iso.datetime(),
      rows_seen: count.optional(),
      count_reported: count.nullable().optional(),
    })
    .nullable(),
  /** A later pass of that list that has not ended yet: the rows show what it has seen so far, too. */
  unfinished_pass: z.int().optional(),
  /** Of `passes`: the newest of them. */
  newest_pass: z.strictObject({ id: z.int(), finished_at: z.iso.datetime() }).optional(),
  /** Of `fence`: the SHA-256 of its entries. */
  fence: sha256.optional(),
  erasure_epoch: count,
  /** The number of the newest change that the rows show: `_seq` of each of them. Deletions with a greater number came later. */
  seq: count,
  /** The newest entry of the mirror's feed of changes that the rows show; null where it has none. */
  changes: z
    .strictObject({ seq: z.int().min(1), at: z.iso.datetime() })
    .nullable()
    .optional(),
  /** Of a delta: the snapshot that it continues. The delta has every row that was added or changed since. */
  based_on: snapshotId.optional(),
  /** Of a delta: the snapshot of `deletions`, of the same moment, that says which rows have left. */
  deletions: snapshotId.optional(),
  rows: count,
  files: z.array(ManifestFile).min(1),
  columns: z.array(PublishedColumn).min(1),
  /** Characters of JSON columns, by column, in whose place U+FFFD was published: NUL and unpaired surrogates. */
  replaced: z.record(z.string(), count).optional(),
  /** Values of promoted columns, by column, that are none of the column's type: null there, and whole in the properties. */
  misfits: z.record(z.string(), count).optional(),
  /** The settings that decided the rows' values and files. */
  publication: z.strictObject({
    layout: count,
    promote: z.array(Promotion),
    /** Only properties that are promoted were published, and no field that the contract does not know. */
    properties: z.literal('listed').optional(),
    mask: z.array(DecidedMask),
    part_rows: count,
  }),
  generator: z.strictObject({ name: z.string(), version: z.string() }),
});
export type Manifest = z.infer<typeof Manifest>;

const TableEntry = z.strictObject({
  version: z.int().min(1),
  files: z.array(z.strictObject({ name: z.string().regex(tableFilePattern), bytes: count, sha256 })),
});
export type TableEntry = z.infer<typeof TableEntry>;

const Reference = z.strictObject({ snapshot_id: snapshotId, manifest: z.string() });

/** `CURRENT.json`, a public format: each dataset's full snapshot and its deltas, oldest first. Paths are relative. */
export const Current = z.strictObject({
  format_version: z.literal(1),
  snapshots: z.record(
    z.string().regex(/^[a-z_]+$/),
    z.strictObject({ ...Reference.shape, deltas: z.array(Reference).optional() }),
  ),
  /** The Iceberg table of a dataset: the version of its metadata, and every file of it but the hint. */
  tables: z.record(z.string().regex(/^[a-z_]+$/), TableEntry).optional(),
});
export type Current = z.infer<typeof Current>;

/** The ids that CURRENT names of a dataset: its full snapshot, then the deltas that continue it, oldest first. */
export function currentIds({ snapshots }: Current, dataset: string): string[] {
  const named = snapshots[dataset];
  return named ? [named, ...(named.deltas ?? [])].map((reference) => reference.snapshot_id) : [];
}

/** The name of a manifest's snapshot. */
export function snapshotOf({ dataset, snapshot_id: snapshotId }: Manifest): SnapshotName {
  return { dataset, snapshotId };
}

/** What a text says in one of these formats. Throws `storage`, with the path and the hint, for any other text. */
export function parseFile<T extends z.ZodType>(
  format: T,
  { path, text, hint }: { path: string; text: string; hint: string },
): z.infer<T> {
  const parsed = format.safeParse(readJson(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue?.path.map(String).join('.') || 'the file';
  throw new AppError(`${path} is damaged: ${where}: ${issue?.message}`, { code: 'storage', hint });
}
