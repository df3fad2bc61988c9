import { findDataset } from '../../contract/datasets.ts';
import { identifierKinds } from '../../contract/identity.ts';
import type { RowFilter as ParquetFilter } from '../../snapshot/read-parquet.ts';
import type { RowFilter as MirrorFilter } from '../../mirror/read-rows.ts';
import { identifyingColumns } from './identity-index.ts';
import { originOf } from './mirror-tables.ts';
import type { ScanSubject } from './scan-task.ts';

/**
 * How SQLite and DuckDB leave out rows that can name no subject, since making a value of each column costs far more than the look
 * at it. What is left out identifies nobody who is searched for; what is not is judged as ever.
 */
export type SoughtRows = { inMirror: MirrorFilter; inParquet: (dataset: string) => ParquetFilter };

/** More would take much memory in a query. One person can have a million recordings. */
const textsMax = 100_000;
/** In a text of JSON without it, each value stands as it is. */
const escape = '\\';

/** Prepares the look for subjects; undefined where each row has to be judged: they are too many, or SQL would spell a text anew. */
export function soughtRows(subjects: readonly ScanSubject[]): SoughtRows | undefined {
  const texts = new Set([escape]);
  for (const { identity } of subjects)
    for (const kind of identifierKinds) {
      if (texts.size + identity[kind].length > textsMax) return undefined;
      for (const text of identity[kind]) texts.add(text);
    }
  for (const text of texts) if (text.includes('\0') || !text.isWellFormed()) return undefined;
  return {
    inMirror: { texts, where: whereInMirror },
    inParquet: (dataset) => ({ texts, textsOf: (columns) => textsInParquet(dataset, columns) }),
  };
}

/** SQL of SQLite: whether a row of a table may name a sought text; undefined for each row. No index knows these expressions. */
function whereInMirror(table: string, columns: readonly string[], sought: string): string | undefined {
  const origin = originOf(table);
  if ((origin !== 'rightful' && origin !== 'feed') || findDataset(table)?.embeddedPerson) return undefined;
  const isSought = (name: string): string =>
    `CAST(${name} AS TEXT) IN (${sought}) OR lower(CAST(${name} AS TEXT)) IN (${sought})`;
  const list = findDataset(table)?.heldIds?.name;
  const conditions = namingColumns(table, columns).map((name) => {
    if (name === list)
      return `instr(${name}, '${escape}') > 0 OR EXISTS (SELECT 1 FROM json_each(${name}) WHERE ${isSought('value')})`;
    // A key that is no identifier of its dataset can be any text, JSON too.
    return origin === 'feed' ? `${isSought(name)} OR ${name} NOT GLOB '[0-9A-Za-z]*'` : isSought(name);
  });
  return conditions.length === 0 ? undefined : conditions.join(' OR ');
}

/** SQL of DuckDB: the texts by which a row of a dataset may name somebody, as a list; undefined for each row. */
function textsInParquet(dataset: string, columns: readonly string[]): string | undefined {
  const { heldIds, embeddedPerson } = findDataset(dataset) ?? {};
  const names = namingColumns(dataset, columns);
  if (names.length === 0) return undefined;
  const lists = names.map((name) => {
    if (name === heldIds?.column) return name;
    if (name !== embeddedPerson) return `[CAST(${name} AS VARCHAR), lower(CAST(${name} AS VARCHAR))]`;
    return `CASE WHEN contains(${name}, '${escape}') THEN ['${escape}']
      ELSE list_concat(string_split(lower(${name}), '"'), string_split(${name}, '"'), [${name} ->> '$.id']) END`;
  });
  return `list_concat(${lists.join(', ')})`;
}

/** The columns of a table or dataset that can identify somebody, or show a name. */
function namingColumns(dataset: string, columns: readonly string[]): string[] {
  return columns.filter((column) => identifyingColumns(dataset).has(column));
}
