import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import avsc from 'avsc';
import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';
import { type ReadRow, readWithHyparquet } from '../parquet-readers.ts';

// A reader of Iceberg tables of its own, by the specification, which shares nothing with the program that writes them.

type Pair = { key: number; value: Buffer };
type Entry = {
  status: number;
  snapshot_id: number;
  sequence_number: number;
  data_file: {
    content: number;
    file_path: string;
    record_count: number;
    file_size_in_bytes: number;
    lower_bounds: Pair[] | null;
    upper_bounds: Pair[] | null;
  };
};
type Manifest = {
  manifest_path: string;
  manifest_length: number;
  content: number;
  sequence_number: number;
  min_sequence_number: number;
  added_snapshot_id: number;
  added_files_count: number;
  existing_files_count: number;
  added_rows_count: number;
  existing_rows_count: number;
};
type Field = { id: number; name: string; required: boolean; type: string | { type: string } };
type Metadata = {
  location: string;
  'current-snapshot-id': number;
  'last-column-id': number;
  'current-schema-id': number;
  schemas: { 'schema-id': number; fields: Field[] }[];
  snapshots: {
    'snapshot-id': number;
    'parent-snapshot-id'?: number;
    'timestamp-ms': number;
    'manifest-list': string;
    'sequence-number': number;
    'schema-id': number;
    summary: Record<string, string>;
  }[];
  'snapshot-log': { 'snapshot-id': number; 'timestamp-ms': number }[];
};

/** A table as a reader finds it. */
export type ReadTable = { metadata: Metadata; rows: ReadRow[]; snapshotIds: number[] };

/** Whether a list says of a manifest what is in it. */
function checkListed(manifest: Manifest, entries: readonly Entry[]): void {
  const [existing = [], added = []] = [0, 1].map((status) => entries.filter((entry) => entry.status === status));
  const rowsOf = (some: readonly Entry[]): number =>
    some.reduce((sum, { data_file: file }) => sum + file.record_count, 0);
  const said = [
    manifest.added_files_count,
    manifest.existing_files_count,
    manifest.added_rows_count,
    manifest.existing_rows_count,
    manifest.min_sequence_number,
  ];
  const is = [
    added.length,
    existing.length,
    rowsOf(added),
    rowsOf(existing),
    Math.min(...entries.map((entry) => entry.sequence_number)),
  ];
  if (String(said) !== String(is)) throw new Error(`a list says ${String(said)} of a manifest with ${String(is)}`);
  if (added.some((entry) => entry.snapshot_id !== manifest.added_snapshot_id)) throw new Error('added by another');
}

/** Reads a table by its hint, or one of its snapshots. Throws where anything in it does not fit together. */
export async function readIcebergTable(folder: string, snapshotId?: number): Promise<ReadTable> {
  const version = readFileSync(join(folder, 'metadata/version-hint.text'), 'utf8');
  const metadata = JSON.parse(readFileSync(join(folder, `metadata/v${version}.metadata.json`), 'utf8')) as Metadata;
  const snapshots = metadata.snapshots.map((each) => each['snapshot-id']);
  const snapshot = metadata.snapshots.find(
    (each) => each['snapshot-id'] === (snapshotId ?? metadata['current-snapshot-id']),
  );
  if (!snapshot) throw new Error('a table without its snapshot');
  const local = (path: string): string => join(folder, path.slice(metadata.location.length));
  const manifests = await readAvro<Manifest>(local(snapshot['manifest-list']));
  const entries: Entry[] = [];
  for (const manifest of manifests) {
    if (statSync(local(manifest.manifest_path)).size !== manifest.manifest_length)
      throw new Error('a manifest of another size');
    const listed = await readAvro<Entry>(local(manifest.manifest_path));
    checkListed(manifest, listed);
    entries.push(...listed);
  }
  const fields = metadata.schemas.find((schema) => schema['schema-id'] === snapshot['schema-id'])?.fields ?? [];
  const gone = new Map<string, { sequence: number; rows: Set<bigint> }[]>();
  for (const { sequence_number: sequence, data_file: file } of entries.filter(
    (entry) => entry.data_file.content === 1,
  )) {
    const rows = (await readFile(local(file.file_path), file)) as { file_path: string; pos: bigint }[];
    const places = rows.map(({ file_path: path, pos }) => `${path} ${String(pos).padStart(9, '0')}`);
    if (String(places) !== String([...new Set(places)].toSorted()))
      throw new Error('deleted rows out of order, or twice');
    for (const [path, some] of Map.groupBy(rows, ({ file_path: path }) => path))
      gone.set(path, [...(gone.get(path) ?? []), { sequence, rows: new Set(some.map(({ pos }) => pos)) }]);
  }
  for (const some of gone.values()) {
    const rows = some.flatMap((each) => Array.from(each.rows));
    if (new Set(rows).size !== rows.length) throw new Error('a row that two files delete');
  }
  const found: ReadRow[] = [];
  for (const { sequence_number: sequence, data_file: file } of entries.filter(
    (entry) => entry.data_file.content === 0,
  )) {
    const rows = await readFile(local(file.file_path), file);
    const passed = (gone.get(file.file_path) ?? []).filter((deletes) => deletes.sequence >= sequence);
    for (const deletes of passed)
      for (const row of deletes.rows) if (row >= BigInt(rows.length)) throw new Error('no such row');
    const named = await renamed(local(file.file_path), rows, fields);
    checkBounds(file, named, fields);
    found.push(...named.filter((_row, index) => !passed.some((deletes) => deletes.rows.has(BigInt(index)))));
  }
  for (const path of gone.keys())
    if (!entries.some(({ data_file: file }) => file.file_path === path))
      throw new Error('deleted rows of an unknown part');
  checkHistory(metadata);
  const total = { records: 'total-records', parts: 'total-data-files', deletes: 'total-delete-files' };
  const is = {
    records: sumOf(entries, 0),
    parts: entries.filter(({ data_file: file }) => file.content === 0).length,
    deletes: entries.filter(({ data_file: file }) => file.content === 1).length,
  };
  for (const name of ['records', 'parts', 'deletes'] as const)
    if (snapshot.summary[total[name]] !== String(is[name])) throw new Error(`a summary with other ${name}`);
  if (snapshot.summary['total-position-deletes'] !== String(sumOf(entries, 1))) throw new Error('other deleted rows');
  return { metadata, rows: found, snapshotIds: snapshots };
}

function sumOf(entries: readonly Entry[], content: number): number {
  return entries.reduce((sum, { data_file: file }) => sum + (file.content === content ? file.record_count : 0), 0);
}

/** The snapshots follow on one another, in time, number and parents, and the log names them and no others. */
function checkHistory({ snapshots, 'snapshot-log': log, 'current-snapshot-id': now }: Metadata): void {
  if (snapshots.at(-1)?.['snapshot-id'] !== now) throw new Error('a table whose newest snapshot is not the last');
  for (const [nth, one] of snapshots.entries()) {
    const before = snapshots[nth - 1];
    if (
      String([log[nth]?.['snapshot-id'], log[nth]?.['timestamp-ms']]) !==
      String([one['snapshot-id'], one['timestamp-ms']])
    )
      throw new Error('a log of other snapshots');
    if (!before) continue;
    if (one['parent-snapshot-id'] !== before['snapshot-id']) throw new Error('a snapshot with another parent');
    if (one['sequence-number'] <= before['sequence-number']) throw new Error('a snapshot that does not count on');
    if (one['timestamp-ms'] < before['timestamp-ms']) throw new Error('a snapshot that is older than its parent');
  }
  if (log.length !== snapshots.length) throw new Error('a log of more snapshots');
}

/** Every file beside a table that no snapshot of it leads to. */
export async function filesWithoutSnapshot(folder: string): Promise<string[]> {
  const { metadata } = await readIcebergTable(folder);
  const known = new Set([
    'version-hint.text',
    `v${readFileSync(join(folder, 'metadata/version-hint.text'), 'utf8')}.metadata.json`,
  ]);
  for (const snapshot of metadata.snapshots) {
    known.add(basename(snapshot['manifest-list']));
    for (const { manifest_path: path, content } of await readAvro<Manifest>(
      join(folder, 'metadata', basename(snapshot['manifest-list'])),
    )) {
      known.add(basename(path));
      if (content === 1)
        for (const { data_file: file } of await readAvro<Entry>(join(folder, 'metadata', basename(path))))
          known.add(basename(file.file_path));
    }
  }
  return readdirSync(join(folder, 'metadata')).filter(
    (name) => !known.has(name) && !/^v\d+\.metadata\.json$/.test(name),
  );
}

async function readAvro<T>(path: string): Promise<T[]> {
  const records: T[] = [];
  const decoder = new avsc.streams.BlockDecoder({ parseHook: (schema: unknown) => typeOf(schema) });
  decoder.on('data', (record: T) => records.push(record));
  const ended = new Promise((resolve, reject) => decoder.on('end', resolve).on('error', reject));
  decoder.end(readFileSync(path));
  await ended;
  return records;
}

const types = new Map<string, avsc.Type>();

/** Made once for each schema: each makes a decoder of its own, which takes longer than to decode a manifest. */
function typeOf(schema: unknown): avsc.Type {
  const text = JSON.stringify(schema);
  const type = types.get(text) ?? avsc.Type.forSchema(schema as never, { wrapUnions: false });
  types.set(text, type);
  return type;
}

async function readFile(path: string, file: Entry['data_file']): Promise<ReadRow[]> {
  if (!existsSync(path)) throw new Error(`${basename(dirname(path))}/${basename(path)} is missing`);
  if (statSync(path).size !== file.file_size_in_bytes) throw new Error('a file of another size');
  const rows = await readWithHyparquet(path);
  if (rows.length !== file.record_count) throw new Error('a file with other rows');
  return rows;
}

/** The rows by the names of the table, which knows the columns of files by their numbers. */
async function renamed(path: string, rows: readonly ReadRow[], fields: readonly Field[]): Promise<ReadRow[]> {
  const { schema } = await parquetMetadataAsync(await asyncBufferFromFile(path));
  const names = new Map(schema.map(({ name, field_id: id }) => [id, name]));
  return rows.map((row) => Object.fromEntries(fields.map(({ id, name }) => [name, row[names.get(id) ?? ''] ?? null])));
}

function checkBounds(file: Entry['data_file'], rows: readonly ReadRow[], fields: readonly Field[]): void {
  for (const { key, value } of [...(file.lower_bounds ?? []), ...(file.upper_bounds ?? [])]) {
    const field = fields.find(({ id }) => id === key);
    if (!field) throw new Error('a bound of no column');
    // A bound of a text would name somebody.
    if (field.type !== 'timestamptz') throw new Error(`a bound of ${field.name}, which is no time`);
    const bound = value.readBigInt64LE();
    if (!rows.some((row) => row[field.name] === bound)) throw new Error(`a bound of ${field.name} that no row has`);
  }
  for (const { name, required } of fields)
    if (required && rows.some((row) => row[name] === null)) throw new Error(`a row without ${name}`);
}
