import { readJson } from '../../core/exact-json.ts';
import { type PublishedFile } from '../published-files.ts';
import { manifestListSchema, manifestSchemas } from './manifest-schemas.ts';
import { tableFolder } from './table-files.ts';
import { TableMetadata, TableSchema } from './table-metadata.ts';

/** A path in a table's files. What stands before its end is where the data folder is, and nothing of a person. */
const tablePath =
  /^.*\/(?:[\dTZ.]+\/part-\d+\.parquet|metadata\/(?:v\d+\.metadata\.json|\d+-(?:list|parts|deletes)\.(?:avro|parquet)))/s;

/** Whether a text is a path as the files of tables have them. */
export function isTablePath(text: unknown): boolean {
  return typeof text === 'string' && tablePath.exec(text)?.[0] === text;
}

/** Whether a published file is one of a table. */
export function isTableFile({ dataset, snapshotId }: PublishedFile): boolean {
  return snapshotId === tableFolder(dataset).snapshotId;
}

/** The names of columns in a table's metadata; undefined if anything in the file is not as this program writes it. */
export function readTableNames(text: string): string[] | undefined {
  const value = readJson(text);
  const table = `${JSON.stringify(value, null, 2)}\n` === text ? TableMetadata.safeParse(value).data : undefined;
  const paths = table && [
    ...table.snapshots.map((snapshot) => snapshot['manifest-list']),
    ...table['metadata-log'].map((log) => log['metadata-file']),
  ];
  const isOurs = paths?.every((path) => isTablePath(path) && path.startsWith(`${table?.location}/`));
  return isOurs ? table?.schemas.flatMap(({ fields }) => fields.map(({ name }) => name)) : undefined;
}

/** The names of headers in manifests and their lists. Shorter ones are too short to be searched for. */
const headerNames = ['partition-spec-id', 'format-version', 'parent-snapshot-id', 'sequence-number'];

/** The words of the format in a manifest of a table, or a list of manifests: schemas, names, paths. */
export function manifestWords(text: string): string[] {
  // Numbers are binary: a byte of one stands before and after each text.
  const pieces = text.split(/\p{Cc}+/u);
  const schemas = pieces.map((piece) => piece.slice(piece.indexOf('{"type":"struct"'), piece.lastIndexOf('}]}') + 3));
  return [
    ...Object.values(manifestSchemas),
    manifestListSchema,
    ...headerNames,
    ...schemas.filter((schema) => TableSchema.safeParse(readJson(schema)).success),
    ...pieces.flatMap((piece) => tablePath.exec(piece)?.[0] ?? []),
  ];
}
