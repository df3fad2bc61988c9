import type { DuckDBConnection, DuckDBListValue, DuckDBValue, JS } from '@duckdb/node-api';
import { withoutDistinctIds } from '../contract/embedded-person.ts';
import { datasets, keyKind, type PublishedDataset } from '../contract/datasets.ts';
import { type Identity, identifierKinds, type Sighting } from '../contract/identity.ts';
import type { ColumnType } from './columns.ts';
import { duckDbApi, loadTexts, sqlName, sqlText, withDuckDb } from './duckdb.ts';
import type { ManifestFile } from './manifest.ts';
import { isBefore, valueWriters } from './row-batches.ts';
import { sightingsOf } from '../contract/row-readers.ts';
import {
  type PublishedPart,
  checkPartRows,
  checkPartSize,
  listPublishedParts,
  unreadablePart,
} from './published-parts.ts';
import type { PublishedFiles } from './published-files.ts';

/** A part that holds a subject. `rows`: all its rows; `found`: the rows that are the subject's, or name it. */
export type FoundPart = {
  dataset: PublishedDataset;
  snapshotId: string;
  name: string;
  rows: number;
  found: Sighting[];
};

/** How much was searched, and the parts that hold the identity, by dataset and age. */
type Located = { searched: { files: number; rows: number; bytes: number }; parts: FoundPart[] };

/** The memory that a search of published files may take. */
export const searchMemoryMaxMb = 512;

/**
 * Finds every row of every generation of persons, recordings and distinct ids that is the identity's or names one of its
 * distinct ids. Columns that do not identify are read only for the rows found. The feed of deletions is not searched: its
 * rows stay. Throws `storage` when a part is missing or cannot be read, since it could hold the subject, and the signal's
 * reason when aborted.
 */
export async function locateIdentity(
  published: PublishedFiles,
  identity: Identity,
  { signal }: { signal: AbortSignal },
): Promise<Located> {
  const parts = listPublishedParts(published).filter(({ dataset }) => isPersonal(dataset));
  const located: Located = { searched: { files: 0, rows: 0, bytes: 0 }, parts: [] };
  const limits = { folders: [published.localFolder], memoryMaxMb: searchMemoryMaxMb, threads: 2, signal };
  await withDuckDb(limits, async (connection) => {
    await loadIdentity(connection, identity);
    for (const part of parts) {
      signal.throwIfAborted();
      const { dataset, snapshotId, file } = part;
      checkPartSize(published, part);
      if (canHold(dataset, file, identity)) {
        const found = await findRows(connection, part, identity).catch((error: unknown) => {
          signal.throwIfAborted();
          throw unreadablePart(part, error);
        });
        if (found.length > 0) located.parts.push({ dataset, snapshotId, name: file.name, rows: file.rows, found });
      }
      located.searched.files += 1;
      located.searched.rows += file.rows;
      located.searched.bytes += file.bytes;
    }
  });
  return located;
}

async function findRows(connection: DuckDBConnection, part: PublishedPart, identity: Identity): Promise<Sighting[]> {
  const { dataset, path } = part;
  await checkPartRows(connection, part);
  const { gone, trimmed } = await markSubjectRows(connection, dataset, path, identity);
  if (gone + trimmed === 0) return [];
  const rows = await connection.stream(`SELECT * FROM read_parquet(${sqlText(path)})
    WHERE file_row_number IN (SELECT row FROM gone UNION ALL SELECT row FROM trimmed) ORDER BY file_row_number`);
  const read = foundRows(dataset);
  const found: Sighting[] = [];
  for await (const chunk of rows.yieldRowObjectJs()) for (const row of chunk) found.push(read(row));
  return found;
}

/** Reads rows of a part as sightings: their columns under the names of the mirror's fields. */
export function foundRows(dataset: PublishedDataset): (row: Readonly<Record<string, JS>>) => Sighting {
  const names = new Map(datasets[dataset].publishedFields.map(({ name, column }) => [column, name]));
  const read = sightingsOf(dataset);
  return (row) =>
    read(Object.fromEntries(Object.entries(row).map(([column, value]) => [names.get(column) ?? column, value])));
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
function mentionOf(dataset: PublishedDataset): MentionColumn | undefined {
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

/** Whether rows of a dataset are about persons, so that an erasure removes them. Rows of the feed of deletions stay. */
export function isPersonal(dataset: string): boolean {
  return keyKind(dataset) !== undefined;
}

/** Whether a part can hold a row of the identity, by the bounds of its key. */
function canHold(dataset: PublishedDataset, file: ManifestFile, identity: Identity): boolean {
  const [key, ...others] = datasets[dataset].identifiers;
  const { min_key: least, max_key: greatest } = file;
  if (!key || least === null || greatest === null) return false;
  if (others.some(({ role }) => identity[role].length > 0)) return true;
  if (mentionOf(dataset) && identity.distinct_id.length > 0) return true;
  return identity[key.role].some((value) => !isBefore(value, least) && !isBefore(greatest, value));
}

/** Puts an identity into the connection's temporary table `subject`. A text that is not well-formed cannot be in a file. */
export async function loadIdentity(connection: DuckDBConnection, identity: Identity): Promise<void> {
  const pieces = identity.distinct_id.filter(isWellFormed).map((value) => ['json_piece', longestPiece(value)]);
  await loadTexts(connection, 'subject', ['kind', 'value'], [...knownTexts(identity), ...pieces]);
}

function knownTexts(identity: Identity): string[][] {
  return identifierKinds.flatMap((kind) => identity[kind].filter(isWellFormed).map((value) => [kind, value]));
}

function isWellFormed(text: string): boolean {
  return text.isWellFormed();
}

/** Puts the identities of several subjects, by their places in a list, into the connection's temporary table `owned`. */
export async function loadOwners(connection: DuckDBConnection, identities: readonly Identity[]): Promise<void> {
  const rows = identities.flatMap((identity, owner) =>
    knownTexts(identity).map(([kind = '', value = '']) => [String(owner), kind, value]),
  );
  await loadTexts(connection, 'owned', ['owner', 'kind', 'value'], rows);
}

/** How many of the rows that are marked as `gone` are each loaded owner's own. */
export async function countOwned(
  connection: DuckDBConnection,
  dataset: PublishedDataset,
  path: string,
  owners: number,
): Promise<number[]> {
  const named = datasets[dataset].identifiers.map(
    ({ column, role }) =>
      `SELECT file_row_number AS row, '${role}' AS kind, CAST(${sqlName(column)} AS VARCHAR) AS value
        FROM read_parquet(${sqlText(path)})`,
  );
  const counts = await connection.runAndReadAll(`SELECT owner, count(DISTINCT row)
    FROM (${named.join(' UNION ALL ')}) JOIN owned USING (kind, value)
    WHERE row IN (SELECT row FROM gone) GROUP BY owner`);
  const rowsOf = new Map(counts.getRows().map(([owner, rows]) => [Number(owner), Number(rows)]));
  return Array.from({ length: owners }, (_none, owner) => rowsOf.get(owner) ?? 0);
}

function longestPiece(distinctId: string): string {
  const pieces = JSON.stringify(distinctId).slice(1, -1).split('"');
  return pieces.reduce((longest, piece) => (piece.length > longest.length ? piece : longest));
}

/**
 * How many rows of a part are the subject's (`gone`), and how many rows of other persons name it (`trimmed`). `goneOf`: of
 * several subjects, how many rows are each one's own; a row of two subjects counts for both.
 */
export type MarkedRows = { gone: number; goneOf?: number[]; trimmed: number; trimmedColumn: string | undefined };

/** The SQL function that removes the loaded identity's distinct ids from a value of the trimmed column. */
export const trimFunction = 'without_subject';

/**
 * Finds the rows of a loaded identity in a part: fills the temporary tables `gone (row)` and `trimmed (row, key)` with their
 * numbers in the file. Reads only the columns that identify. Throws DuckDB's error, and `storage` at a row whose embedded
 * person is not JSON.
 */
export async function markSubjectRows(
  connection: DuckDBConnection,
  dataset: PublishedDataset,
  path: string,
  identity: Identity,
): Promise<MarkedRows> {
  const { identifiers, publishedFields } = datasets[dataset];
  const mention = mentionOf(dataset);
  const part = `read_parquet(${sqlText(path)})`;
  await emptyMarks(connection);
  for (const { column, role: kind } of identifiers)
    if (identity[kind].length > 0)
      await connection.run(`INSERT INTO gone SELECT file_row_number FROM ${part}
        WHERE CAST(${sqlName(column)} AS VARCHAR) IN (SELECT value FROM subject WHERE kind = '${kind}')
          AND file_row_number NOT IN (SELECT row FROM gone)`);
  if (mention && identity.distinct_id.length > 0)
    await markMentions(connection, part, publishedFields[0]?.column ?? '', mention, identity);
  return { ...(await countMarks(connection)), trimmedColumn: mention?.column };
}

/** Makes empty tables `gone` and `trimmed`. */
export async function emptyMarks(connection: DuckDBConnection): Promise<void> {
  await connection.run(`CREATE OR REPLACE TEMP TABLE gone (row BIGINT)`);
  await connection.run(`CREATE OR REPLACE TEMP TABLE trimmed (row BIGINT, key VARCHAR)`);
}

/** How many rows are marked. */
export async function countMarks(connection: DuckDBConnection): Promise<{ gone: number; trimmed: number }> {
  const counts = await connection.runAndReadAll(`SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM trimmed)`);
  const [gone, trimmed] = counts.getRows()[0] ?? [];
  return { gone: Number(gone), trimmed: Number(trimmed) };
}

/** Lets queries of a connection call `without_subject` on the column in which rows of other persons name the subject. */
export function registerTrim(connection: DuckDBConnection, dataset: PublishedDataset, identity: Identity): void {
  const mention = mentionOf(dataset);
  if (!mention) return;
  const gone = new Set(identity.distinct_id);
  const type = valueWriters[mention.type].type();
  connection.registerScalarFunction(
    duckDbApi().DuckDBScalarFunction.create({
      name: trimFunction,
      parameterTypes: [type],
      returnType: type,
      mainFunction: (_info, input, output) => {
        const values = input.getColumnValues(0);
        for (const [row, value] of values.entries())
          output.setItem(row, value === null ? null : (mention.without(value, (id) => gone.has(id)) ?? value));
        output.flush();
      },
    }),
  );
}

async function markMentions(
  connection: DuckDBConnection,
  part: string,
  key: string,
  { column, texts, kind, without }: MentionColumn,
  identity: Identity,
): Promise<void> {
  const candidates = await connection.runAndReadAll(`
    SELECT file_row_number, ${sqlName(key)}, ${sqlName(column)} FROM ${part}
    WHERE file_row_number NOT IN (SELECT row FROM gone) AND file_row_number IN (
      SELECT row FROM (SELECT file_row_number AS row, unnest(${texts}) AS text FROM ${part})
      WHERE text IN (SELECT value FROM subject WHERE kind = '${kind}'))`);
  const gone = new Set(identity.distinct_id);
  const appender = await connection.createAppender('trimmed');
  for (const [row, rowKey, value] of candidates.getRows()) {
    if (without(value ?? null, (id) => gone.has(id)) === undefined) continue;
    appender.appendBigInt(row as bigint);
    appender.appendVarchar(rowKey as string);
    appender.endRow();
  }
  appender.closeSync();
}
