import { readJson } from '../../core/exact-json.ts';
import { type PublishedFile } from '../published-files.ts';
import { decodeAvro } from './avro.ts';
import { type ManifestEntry, manifestListSchema, manifestSchema } from './manifest-schemas.ts';
import { hintName, tableFolder } from './table-files.ts';
import { TableMetadata, TableSchema } from './table-metadata.ts';

/** What a file of a table can hold of persons: the names of columns, and the bounds of keys. */
export type TableContent = { names: string[]; keys: string[] };

/** The end of a path in a table's files. What stands before it is where the data folder is, and nothing of a person. */
const pathEnd =
  /\/(?:[\dTZ.]+\/part-\d+\.parquet|metadata\/(?:v\d+\.metadata\.json|\d+-(?:list|parts|deletes)\.(?:avro|parquet)))$/;

/** Whether a text is a path as the files of tables have them. */
export function isTablePath(text: unknown): boolean {
  return typeof text === 'string' && pathEnd.test(text);
}

/** Whether a published file is one of a table. */
export function isTableFile({ dataset, snapshotId }: PublishedFile): boolean {
  return snapshotId === tableFolder(dataset).snapshotId;
}

/** What a file of a table can hold of persons; undefined if anything in it is not as this program writes it. */
export function readTableContent({ name }: PublishedFile, bytes: Buffer): TableContent | undefined {
  if (name === hintName) return /^\d+$/.test(bytes.toString()) ? { names: [], keys: [] } : undefined;
  if (name.endsWith('.json')) return metadataContent(bytes.toString());
  const file = decodeAvro(bytes);
  if (!file) return undefined;
  const { schema: tableSchema = '', content, ...headers } = file.headers;
  if (!Object.values(headers).every((text) => /^(?:\d+|\[\]|null)$/.test(text))) return undefined;
  if (file.schema === manifestListSchema) {
    const paths = (file.records as { manifest_path: string }[]).map(({ manifest_path: path }) => path);
    return tableSchema === '' && content === undefined && paths.every(isTablePath)
      ? { names: [], keys: [] }
      : undefined;
  }
  const schema = TableSchema.safeParse(readJson(tableSchema)).data;
  if (file.schema !== manifestSchema || !schema || JSON.stringify(schema) !== tableSchema) return undefined;
  return content === 'data' || content === 'deletes'
    ? manifestContent(schema, file.records as readonly ManifestEntry[])
    : undefined;
}

function metadataContent(text: string): TableContent | undefined {
  const value = readJson(text);
  const table = `${JSON.stringify(value, null, 2)}\n` === text ? TableMetadata.safeParse(value).data : undefined;
  if (!table) return undefined;
  const paths = [
    ...table.snapshots.map((snapshot) => snapshot['manifest-list']),
    ...table['metadata-log'].map((log) => log['metadata-file']),
  ];
  const isOurs = paths.every((path) => isTablePath(path) && path.startsWith(`${table.location}/`));
  return isOurs ? { names: table.schemas.flatMap(namesOf), keys: [] } : undefined;
}

function manifestContent(schema: TableSchema, records: readonly ManifestEntry[]): TableContent | undefined {
  const texts = new Set(schema.fields.filter(({ type }) => type === 'string').map(({ id }) => id));
  const keys: string[] = [];
  for (const { data_file: file } of records) {
    if (!isTablePath(file.file_path)) return undefined;
    for (const { key, value } of [...(file.lower_bounds ?? []), ...(file.upper_bounds ?? [])])
      if (texts.has(key)) keys.push(value.toString());
      else if (value.length !== 8) return undefined;
  }
  return { names: namesOf(schema), keys };
}

function namesOf({ fields }: TableSchema): string[] {
  return fields.map(({ name }) => name);
}
