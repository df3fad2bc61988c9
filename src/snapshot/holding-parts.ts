import type { DuckDBConnection, DuckDBListValue, DuckDBValue } from '@duckdb/node-api';
import { datasets, type PublishedDataset } from '../contract/datasets.ts';
import { withoutDistinctIds } from '../contract/embedded-person.ts';
import type { Identity } from '../contract/identity.ts';
import type { ColumnType } from './columns.ts';
import { duckDbApi, parquetRows, sqlName, sqlPaths } from './duckdb.ts';
import type { PublishedPart } from './published-parts.ts';

/** So many files are one query. */
const filesAtOnce = 1000;

/**
 * The parts that can hold a row of the identity that is loaded, or name it, in the same order: the others do not. A part in which
 * this cannot be told is among them. One query reads many files: one for each file would cost ten times as much.
 */
export async function findHolding(
  connection: DuckDBConnection,
  parts: readonly PublishedPart[],
  identity: Identity,
  signal: AbortSignal,
): Promise<PublishedPart[]> {
  const holding = new Set<PublishedPart>();
  const possible = parts.filter(({ dataset }) => canHold(dataset, identity));
  for (const [dataset, all] of Map.groupBy(possible, (part) => part.dataset))
    for (let at = 0; at < all.length; at += filesAtOnce) {
      signal.throwIfAborted();
      const some = all.slice(at, at + filesAtOnce);
      // Whatever cannot be read is named where each part is read by itself.
      const paths = await pathsThatHold(connection, dataset, some, identity).catch(() => undefined);
      for (const part of some) if (paths?.has(part.path) ?? true) holding.add(part);
    }
  return parts.filter((part) => holding.has(part));
}

/** The paths of the parts with a row that is the identity's or that may name it, or with other rows than were published. */
async function pathsThatHold(
  connection: DuckDBConnection,
  dataset: PublishedDataset,
  parts: readonly PublishedPart[],
  identity: Identity,
): Promise<Set<string>> {
  const paths = parts.map(({ path }) => path);
  // Generations have other columns, as other properties were promoted.
  const rows = parquetRows(paths, 'filename = true', 'union_by_name = true');
  const footers = await connection.runAndReadAll(
    `SELECT file_name, num_rows FROM parquet_file_metadata(${sqlPaths(paths)})`,
  );
  const rowsOf = new Map(footers.getRows().map(([path, count]) => [String(path), Number(count)]));
  const found = new Set(parts.flatMap(({ path, file }) => (rowsOf.get(path) === file.rows ? [] : path)));
  const queries = [`SELECT DISTINCT filename FROM ${rows} WHERE ${ownCondition(dataset, identity)}`];
  const mention = identity.distinct_id.length > 0 ? mentionOf(dataset) : undefined;
  if (mention)
    queries.push(`SELECT DISTINCT filename FROM (SELECT filename, unnest(${mention.texts}) AS text FROM ${rows})
      WHERE text IN (SELECT value FROM subject WHERE kind = '${mention.kind}')`);
  for (const query of queries)
    for (const [path] of (await connection.runAndReadAll(query)).getRows()) found.add(String(path));
  return found;
}

/** Whether the identity has an identifier that rows of a dataset can show. */
function canHold(dataset: PublishedDataset, identity: Identity): boolean {
  const { identifiers } = datasets[dataset];
  const isMentioned = mentionOf(dataset) !== undefined && identity.distinct_id.length > 0;
  return isMentioned || identifiers.some(({ role }) => identity[role].length > 0);
}

/** SQL: whether a row is the identity's own, by a column that identifies. */
export function ownCondition(dataset: PublishedDataset, identity: Identity): string {
  const isOwn = datasets[dataset].identifiers.flatMap(({ column, role: kind }) =>
    identity[kind].length > 0
      ? `coalesce(CAST(${sqlName(column)} AS VARCHAR) IN (SELECT value FROM subject WHERE kind = '${kind}'), false)`
      : [],
  );
  return `(${[...isOwn, 'false'].join(' OR ')})`;
}

/** A column in which rows of other persons can name a distinct id, and where in it. */
type MentionColumn = {
  readonly column: string;
  readonly type: ColumnType;
  /** SQL for texts of a value. When the value names a distinct id, at least one of them is in the table `subject`. */
  readonly texts: string;
  /** The kind of that text in `subject`: the distinct id, or its longest piece between quotes in a JSON text. */
  readonly kind: 'distinct_id' | 'json_piece';
  /** The value without the distinct ids; undefined when it names none of them. */
  readonly without: (value: DuckDBValue, isGone: (id: string) => boolean) => DuckDBValue | undefined;
};

/** The column in which rows of a dataset can name distinct ids of other persons; undefined when there is none. */
export function mentionOf(dataset: PublishedDataset): MentionColumn | undefined {
  const { heldIds, embeddedPerson } = datasets[dataset];
  if (heldIds)
    return {
      column: heldIds.column,
      type: 'list<string>',
      texts: sqlName(heldIds.column),
      kind: 'distinct_id',
      without: (value, isGone) => {
        const { items } = value as DuckDBListValue;
        const kept = items.filter((id) => !isGone(String(id)));
        return kept.length === items.length ? undefined : duckDbApi().listValue(kept);
      },
    };
  if (embeddedPerson === null) return undefined;
  return {
    column: embeddedPerson,
    type: 'string',
    // DuckDB's own JSON refuses a lone surrogate, and a regular expression takes four times as long.
    texts: `string_split(${sqlName(embeddedPerson)}, '"')`,
    kind: 'json_piece',
    without: (value, isGone) => withoutDistinctIds(value as string, isGone),
  };
}
