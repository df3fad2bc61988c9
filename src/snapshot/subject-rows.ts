import type { DuckDBConnection, JS } from '@duckdb/node-api';
import { spelledInJson } from '../contract/embedded-person.ts';
import { datasets, keyKind, type PublishedDataset } from '../contract/datasets.ts';
import {
  type Identity,
  identifiersIn,
  nobody,
  partsOf,
  type Sighting,
  withoutReusableId,
} from '../contract/identity.ts';
import { duckDbApi, loadTexts, parquetRows, sqlName, withDuckDb } from './duckdb.ts';
import type { ManifestFile } from './manifest.ts';
import { findHolding, mentionOf, ownCondition } from './holding-parts.ts';
import { valueWriters } from './row-batches.ts';
import { sightingsOf } from '../contract/row-readers.ts';
import {
  type PublishedPart,
  checkPartRows,
  checkPartSize,
  listPublishedParts,
  unreadablePart,
} from './published-parts.ts';
import { placeOf, type PublishedFiles } from './published-files.ts';

/** A part that holds a subject. `rows`: all its rows. */
export type FoundPart = { dataset: PublishedDataset; snapshotId: string; name: string; rows: number };

/** How much was searched. */
type Searched = { files: number; rows: number; bytes: number };

/** The memory that a search of published files may take. */
export const searchMemoryMaxMb = 512;

/**
 * How published files are searched. `onRow` takes each row that is the subject's, or names it; parts by dataset and age. A
 * subject with many recordings is searched for in parts: such a row can come twice.
 */
type SearchOptions = { signal: AbortSignal; onRow: (part: FoundPart, row: Sighting) => void };

/**
 * Finds every row of every generation of persons, recordings and distinct ids that is the identity's or names one of its
 * distinct ids. Columns that do not identify are read only for the rows found. The feed of deletions is not searched: its
 * rows stay. Throws `storage` when a part is missing or cannot be read, since it could hold the subject, and the signal's
 * reason when aborted.
 */
export async function searchIdentity(
  published: PublishedFiles,
  identity: Identity,
  { signal, onRow }: SearchOptions,
): Promise<Searched> {
  const parts = listPublishedParts(published).filter(({ dataset }) => isPersonal(dataset));
  const limits = { folders: [published.localFolder], memoryMaxMb: searchMemoryMaxMb, threads: 2, signal };
  const search = (some: Identity): Promise<void> =>
    withDuckDb(limits, async (connection) => {
      await loadIdentity(connection, some);
      for (const part of parts) checkPartSize(published, part);
      for (const part of await findHolding(connection, parts, some, signal)) {
        signal.throwIfAborted();
        const { dataset, snapshotId, file } = part;
        const found = { dataset, snapshotId, name: file.name, rows: file.rows };
        await findRows(connection, part, some, (row) => onRow(found, row)).catch((error: unknown) => {
          signal.throwIfAborted();
          throw unreadablePart(part, error);
        });
      }
    });
  for (const some of comparedParts(identity)) await search(some);
  const sum = (count: (file: ManifestFile) => number): number => parts.reduce((all, { file }) => all + count(file), 0);
  return { files: parts.length, rows: sum(({ rows }) => rows), bytes: sum(({ bytes }) => bytes) };
}

/** As `searchIdentity`, for the rows that are one subject's own, with these in memory. */
export async function locateIdentity(
  published: PublishedFiles,
  identity: Identity,
  { signal }: { signal: AbortSignal },
): Promise<{ searched: Searched; parts: (FoundPart & { found: Sighting[] })[] }> {
  const parts = new Map<string, FoundPart & { found: Sighting[] }>();
  const taken = new Set<string>();
  const onRow = (part: FoundPart, row: Sighting): void => {
    const place = placeOf(part);
    const name = row.recording_id === null ? undefined : `${place} ${row.recording_id}`;
    if (name !== undefined && taken.has(name)) return;
    if (name !== undefined) taken.add(name);
    const known = parts.get(place) ?? { ...part, found: [] };
    parts.set(place, known);
    known.found.push(row);
  };
  const searched = await searchIdentity(published, withoutReusableId(identity), { signal, onRow });
  return { searched, parts: [...parts.values()] };
}

async function findRows(
  connection: DuckDBConnection,
  part: PublishedPart,
  identity: Identity,
  onRow: (row: Sighting) => void,
): Promise<void> {
  const { dataset, path } = part;
  await checkPartRows(connection, part);
  const rows = parquetRows([path]);
  const own = ownCondition(dataset, identity);
  const canMention = mentionOf(dataset) !== undefined;
  if (canMention) {
    await emptyMarks(connection);
    await markMentions(connection, dataset, rows, own, identity);
  }
  const found = await connection.stream(
    `SELECT * FROM ${rows} WHERE ${own}${canMention ? ' OR file_row_number IN (SELECT row FROM trimmed)' : ''}`,
  );
  const read = foundRows(dataset);
  for await (const chunk of found.yieldRowObjectJs()) for (const row of chunk) onRow(read(row));
}

/** Reads rows of a part as sightings: their columns under the names of the mirror's fields. */
export function foundRows(dataset: PublishedDataset): (row: Readonly<Record<string, JS>>) => Sighting {
  const names = new Map(datasets[dataset].publishedFields.map(({ name, column }) => [column, name]));
  const read = sightingsOf(dataset);
  return (row) =>
    read(Object.fromEntries(Object.entries(row).map(([column, value]) => [names.get(column) ?? column, value])));
}

/** Whether rows of a dataset are about persons, so that an erasure removes them. Rows of the feed of deletions stay. */
export function isPersonal(dataset: string): boolean {
  return keyKind(dataset) !== undefined;
}

/** Puts an identity into the connection's temporary table `subject`. */
async function loadIdentity(connection: DuckDBConnection, identity: Identity): Promise<void> {
  await loadTexts(connection, 'subject', ['kind', 'value'], subjectTexts(identity));
}

function* subjectTexts(identity: Identity): Generator<[kind: string, value: string]> {
  yield* knownTexts(identity);
  for (const value of spelledInJson(identity.distinct_id))
    if (value.isWellFormed()) yield ['json_piece', longestPiece(value)];
}

/** The identifiers of an identity that can be in a file. A text that is not well-formed cannot. */
export function* knownTexts(identity: Identity): Generator<[kind: string, value: string]> {
  for (const { kind, value } of identifiersIn(identity)) if (value.isWellFormed()) yield [kind, value];
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
 * Finds the rows of an identity in a part: fills the temporary tables `gone (row)` and `trimmed (row, key)` with their
 * numbers in the file. Reads only the columns that identify. Throws DuckDB's error, and `storage` at a row whose embedded
 * person is not JSON.
 */
export async function markSubjectRows(
  connection: DuckDBConnection,
  dataset: PublishedDataset,
  path: string,
  identity: Identity,
): Promise<MarkedRows> {
  const { identifiers } = datasets[dataset];
  const mention = mentionOf(dataset);
  const part = parquetRows([path]);
  await emptyMarks(connection);
  for (const some of comparedParts(identity)) {
    await loadIdentity(connection, some);
    for (const { column, role: kind } of identifiers)
      if (some[kind].length > 0)
        await connection.run(`INSERT INTO gone SELECT file_row_number FROM ${part}
          WHERE CAST(${sqlName(column)} AS VARCHAR) IN (SELECT value FROM subject WHERE kind = '${kind}')
            AND file_row_number NOT IN (SELECT row FROM gone)`);
  }
  await markMentions(connection, dataset, part, 'file_row_number IN (SELECT row FROM gone)', identity);
  return { ...(await countMarks(connection)), trimmedColumn: mention?.column };
}

/** So many recordings are compared with a file at once: one person can have a million, and each takes room in a join. */
const comparedAtOnce = 100_000;

/** An identity in the parts that are compared at once: many of its recordings by themselves, and last all the rest. */
function comparedParts(identity: Identity): Identity[] {
  const { recording_id: ids } = identity;
  const many = [...partsOf({ ...nobody, recording_id: ids.slice(comparedAtOnce) }, comparedAtOnce)];
  return [...many, { ...identity, recording_id: ids.slice(0, comparedAtOnce) }];
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
  const gone = new Set(spelledInJson(identity.distinct_id));
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

/** Marks the rows that name the loaded identity, of those that are not its own (`own`: SQL). */
async function markMentions(
  connection: DuckDBConnection,
  dataset: PublishedDataset,
  part: string,
  own: string,
  identity: Identity,
): Promise<void> {
  const mention = mentionOf(dataset);
  if (!mention || identity.distinct_id.length === 0) return;
  const { column, texts, kind, without } = mention;
  const candidates = await connection.runAndReadAll(`
    SELECT file_row_number, ${sqlName(datasets[dataset].publishedFields[0]?.column ?? '')}, ${sqlName(column)} FROM ${part}
    WHERE NOT ${own} AND file_row_number IN (
      SELECT row FROM (SELECT file_row_number AS row, unnest(${texts}) AS text FROM ${part} WHERE NOT ${own})
      WHERE text IN (SELECT value FROM subject WHERE kind = '${kind}'))`);
  const gone = new Set(spelledInJson(identity.distinct_id));
  const appender = await connection.createAppender('trimmed');
  for (const [row, rowKey, value] of candidates.getRows()) {
    if (without(value ?? null, (id) => gone.has(id)) === undefined) continue;
    appender.appendBigInt(row as bigint);
    appender.appendVarchar(rowKey as string);
    appender.endRow();
  }
  appender.closeSync();
}
