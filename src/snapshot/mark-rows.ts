import type { DuckDBConnection, DuckDBListValue, DuckDBValue, JS } from '@duckdb/node-api';
import { datasets, type PublishedDataset } from '../contract/datasets.ts';
import { spelledInJson, withoutDistinctIds } from '../contract/embedded-person.ts';
import { identifiersIn, nobody, unionOf, type Identity } from '../contract/identity.ts';
import type { ColumnType } from './columns.ts';
import { duckDbApi, loadTexts, parquetRows, sqlName } from './duckdb.ts';
import { valueWriters } from './row-batches.ts';

/** SQL for where a row of `read_parquet` stands: the number of its file among those that are read, and its own in the file. */
export const rowPlace = 'file_index AS file, file_row_number AS row';

/** The rows of Parquet files, as SQL. Other generations have other columns, as other properties were promoted. */
export function rowsOfParts(paths: readonly string[]): string {
  return parquetRows(paths, 'union_by_name = true');
}

/** Makes empty tables of marks. `gone`: rows that are a subject's own. `trimmed`: rows of others that name one, and their keys. */
export async function emptyMarks(connection: DuckDBConnection): Promise<void> {
  await connection.run(`CREATE OR REPLACE TEMP TABLE gone (file BIGINT, row BIGINT, owner INTEGER)`);
  await connection.run(`CREATE OR REPLACE TEMP TABLE trimmed (file BIGINT, row BIGINT, key VARCHAR)`);
}

/**
 * Marks the rows of subjects in parts of a dataset, and the rows of others that name one of their distinct ids. Reads only the
 * columns that identify. Throws DuckDB's error, and `storage` at a row whose embedded person is not JSON.
 */
export async function markSubjectRows(
  connection: DuckDBConnection,
  dataset: PublishedDataset,
  paths: readonly string[],
  subjects: readonly Identity[],
): Promise<void> {
  const rows = rowsOfParts(paths);
  await emptyMarks(connection);
  for (const some of comparedTogether(subjects)) {
    await loadSubjects(connection, some);
    for (const { column, role: kind } of datasets[dataset].identifiers)
      if (some.some((subject) => subject[kind].length > 0))
        // By its table: a promoted column can have any of these names.
        await connection.run(`INSERT INTO gone SELECT file, row, owner
          FROM (SELECT ${rowPlace}, CAST(subject.owner AS INTEGER) AS owner FROM ${rows}
            JOIN subject ON subject.kind = '${kind}' AND subject.value = CAST(${sqlName(column)} AS VARCHAR))
          ANTI JOIN gone USING (file, row, owner)`);
  }
  await markNaming(connection, dataset, rows, unionOf(subjects));
}

/** So many recordings of a subject are compared at once: one person can have a million, and each takes room in a join. */
const comparedAtOnce = 100_000;

/** The subjects in parts that are compared at once: many recordings by themselves, and last all the rest. */
function* comparedTogether(subjects: readonly Identity[]): Generator<readonly Identity[]> {
  const most = Math.max(0, ...subjects.map(({ recording_id: ids }) => ids.length));
  const idsFrom = (first: number, { recording_id: ids }: Identity): readonly string[] =>
    ids.slice(first, first + comparedAtOnce);
  for (let first = comparedAtOnce; first < most; first += comparedAtOnce)
    yield subjects.map((subject) => ({ ...nobody, recording_id: idsFrom(first, subject) }));
  yield subjects.map((subject) => ({ ...subject, recording_id: idsFrom(0, subject) }));
}

/** Puts subjects into the connection's temporary table `subject`, each under its place in the list. */
async function loadSubjects(connection: DuckDBConnection, subjects: readonly Identity[]): Promise<void> {
  const rows = function* (): Generator<string[]> {
    for (const [owner, identity] of subjects.entries()) {
      for (const { kind, value } of identifiersIn(identity)) yield [String(owner), kind, value];
      for (const value of spelledInJson(identity.distinct_id)) yield [String(owner), 'json_piece', longestPiece(value)];
    }
  };
  // A text that is not well-formed cannot be in a file.
  const wellFormed = rows().filter((texts) => texts.every((text) => text.isWellFormed()));
  await loadTexts(connection, 'subject', ['owner', 'kind', 'value'], wellFormed);
}

function longestPiece(distinctId: string): string {
  const pieces = JSON.stringify(distinctId).slice(1, -1).split('"');
  return pieces.reduce((longest, piece) => (piece.length > longest.length ? piece : longest));
}

/** So few are looked for in each value as it is, which takes a third of the time of taking it apart. */
const fewPieces = 8;

/** Marks the rows of others that name a distinct id of the loaded subjects. */
async function markNaming(
  connection: DuckDBConnection,
  dataset: PublishedDataset,
  rows: string,
  { distinct_id: distinctIds }: Identity,
): Promise<void> {
  const mention = mentionOf(dataset);
  if (!mention || distinctIds.length === 0) return;
  const { column, texts, kind, holds, names } = mention;
  const key = datasets[dataset].publishedFields[0]?.column ?? '';
  const gone = new Set(spelledInJson(distinctIds));
  const pieces = (kind === 'json_piece' ? [...gone].map(longestPiece) : distinctIds).filter((one) =>
    one.isWellFormed(),
  );
  const isFew = pieces.length <= fewPieces;
  const conditions = pieces.map((_piece, index) => `${holds}(value, $${index + 1})`);
  const candidates = await connection.runAndReadAll(
    `SELECT DISTINCT file, row, key, value
    FROM (SELECT ${rowPlace}, ${sqlName(key)} AS key, ${sqlName(column)} AS value${isFew ? '' : `, unnest(${texts}) AS text`} FROM ${rows})
    ${isFew ? '' : `SEMI JOIN (SELECT value AS text FROM subject WHERE kind = '${kind}') USING (text)`}
    ANTI JOIN gone USING (file, row) ${isFew ? `WHERE ${['false', ...conditions].join(' OR ')}` : ''}`,
    isFew ? pieces : [],
  );
  const appender = await connection.createAppender('trimmed');
  for (const [file, row, rowKey, value] of candidates.getRowsJS()) {
    if (!names(value ?? null, (id) => gone.has(id))) continue;
    appender.appendBigInt(file as bigint);
    appender.appendBigInt(row as bigint);
    appender.appendVarchar(rowKey as string);
    appender.endRow();
  }
  appender.closeSync();
}

/** The numbers of the parts in which rows are marked. */
export async function markedParts(connection: DuckDBConnection): Promise<number[]> {
  const marked = await connection.runAndReadAll(`SELECT file FROM gone UNION SELECT file FROM trimmed ORDER BY file`);
  return marked.getRows().map(([file]) => Number(file));
}

/**
 * What is marked in one part. `rows`: the places of those that are gone. `rowsOf`: how many are each subject's own; a row of two counts
 * for both. `trimmed`: how many rows of others name one.
 */
export async function readMarks(
  connection: DuckDBConnection,
  part: number,
  subjects: number,
): Promise<{ rows: number[]; rowsOf: number[]; trimmed: number }> {
  const gone = await connection.runAndReadAll(`SELECT row, owner FROM gone WHERE file = ${part}`);
  const rows = new Set<number>();
  const rowsOf = Array.from({ length: subjects }, () => 0);
  for (const [row, owner] of gone.getRows()) {
    rows.add(Number(row));
    if (owner !== null) rowsOf[Number(owner)] = (rowsOf[Number(owner)] ?? 0) + 1;
  }
  const trimmed = await connection.runAndReadAll(`SELECT count(*) FROM trimmed WHERE file = ${part}`);
  return { rows: [...rows], rowsOf, trimmed: Number(trimmed.getRows()[0]?.[0]) };
}

/** The SQL function that removes distinct ids from a value of the column in which others name them. */
export const trimFunction = 'without_subject';

/** The column of a dataset in which rows of others can name distinct ids; undefined when there is none. */
export function trimmedColumn(dataset: PublishedDataset): string | undefined {
  return mentionOf(dataset)?.column;
}

/** Lets queries of a connection call `without_subject` on the trimmed column. */
export function registerTrim(
  connection: DuckDBConnection,
  dataset: PublishedDataset,
  { distinct_id: distinctIds }: Identity,
): void {
  const mention = mentionOf(dataset);
  if (!mention) return;
  const gone = new Set(spelledInJson(distinctIds));
  const type = valueWriters[mention.type].type();
  connection.registerScalarFunction(
    duckDbApi().DuckDBScalarFunction.create({
      name: trimFunction,
      parameterTypes: [type],
      returnType: type,
      mainFunction: (_info, input, output) => {
        const values = input.getColumnValues(0);
        for (const [row, value] of values.entries())
          output.setItem(row, value === null ? null : mention.without(value, (id) => gone.has(id)));
        output.flush();
      },
    }),
  );
}

/** A column in which rows of other persons can name a distinct id, and where in it. */
type MentionColumn = {
  readonly column: string;
  readonly type: ColumnType;
  /** SQL for texts of a value. When the value names a distinct id, at least one of them is in the table `subject`. */
  readonly texts: string;
  /** The kind of that text in `subject`: the distinct id, or its longest piece between quotes in a JSON text. */
  readonly kind: 'distinct_id' | 'json_piece';
  /** The SQL function that tells whether a value holds such a text. */
  readonly holds: 'list_contains' | 'contains';
  readonly names: (value: JS, isGone: (id: string) => boolean) => boolean;
  readonly without: (value: DuckDBValue, isGone: (id: string) => boolean) => DuckDBValue;
};

function mentionOf(dataset: PublishedDataset): MentionColumn | undefined {
  const { heldIds, embeddedPerson } = datasets[dataset];
  if (heldIds)
    return {
      column: heldIds.column,
      type: 'list<string>',
      texts: sqlName(heldIds.column),
      kind: 'distinct_id',
      holds: 'list_contains',
      names: (value, isGone) => Array.isArray(value) && value.some((id) => typeof id === 'string' && isGone(id)),
      without: (value, isGone) =>
        duckDbApi().listValue((value as DuckDBListValue).items.filter((id) => !isGone(String(id)))),
    };
  if (embeddedPerson === null) return undefined;
  return {
    column: embeddedPerson,
    type: 'string',
    // DuckDB's own JSON refuses a lone surrogate, and a regular expression takes four times as long.
    texts: `string_split(${sqlName(embeddedPerson)}, '"')`,
    kind: 'json_piece',
    holds: 'contains',
    names: (value, isGone) => withoutDistinctIds(value as string | null, isGone) !== undefined,
    without: (value, isGone) => withoutDistinctIds(value as string, isGone) ?? value,
  };
}
