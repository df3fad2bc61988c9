import { findDataset } from '../../contract/datasets.ts';
import { identifierKinds } from '../../contract/identity.ts';
import type { RowFilter as MirrorFilter } from '../../mirror/read-rows.ts';
import { rowPlaceNames } from '../../snapshot/duckdb.ts';
import type { RowFilter as ParquetFilter } from '../../snapshot/read-parquet.ts';
import { identifyingColumns } from './identity-index.ts';
import { originOf } from './mirror-tables.ts';
import type { ScanSubject } from './scan-task.ts';

/**
 * How SQLite and DuckDB leave out rows that can name no subject, since making a value of each column costs far more than the look
 * at it. What is left out identifies nobody who is searched for; what is not is judged as ever. A row in doubt is left in.
 */
export type SoughtRows = {
  inMirror: MirrorFilter;
  inParquet: (dataset: string) => ParquetFilter;
  /** The columns of the published files in which no row is left in, by dataset and SHA-256: generations have many with the same bytes. */
  emptyParts: Map<string, readonly string[]>;
};

/** More would take much memory in a query. One person can have a million recordings. */
const textsMax = 100_000;
/** In a text of JSON without it, each value stands as it is. As a text of a row, it says that the row is in doubt. */
const escape = '\\';

/**
 * Prepares the look for subjects; undefined where each row has to be judged: they are too many, or SQL would not see a text as it is
 * when it is read. Bytes that are no UTF-8 are read as a text with replacement characters.
 */
export function soughtRows(subjects: readonly ScanSubject[]): SoughtRows | undefined {
  const texts = new Set([escape]);
  for (const { identity } of subjects)
    for (const kind of identifierKinds) {
      if (texts.size + identity[kind].length > textsMax) return undefined;
      for (const text of identity[kind]) texts.add(text);
    }
  for (const text of texts) if (/[\0\ufffd]/.test(text) || !text.isWellFormed()) return undefined;
  return {
    inMirror: { texts, where: whereInMirror },
    emptyParts: new Map(),
    inParquet: (dataset) => ({ texts, textsOf: (columns) => textsInParquet(dataset, columns) }),
  };
}

/** SQL of SQLite: whether a row of a table may name a sought text; undefined for each row. No index knows these expressions. */
function whereInMirror(table: string, columns: readonly string[], sought: string): string | undefined {
  const origin = originOf(table);
  if (origin !== 'rightful' && origin !== 'feed') return undefined;
  // An integer can be stored as a real number, which is spelled otherwise.
  const isSought = (name: string): string => `(typeof(${name}) = 'real'
    OR CAST(${name} AS TEXT) IN (${sought}) OR lower(CAST(${name} AS TEXT)) IN (${sought}))`;
  const { heldIds, embeddedPerson } = findDataset(table) ?? {};
  const conditions = columns.filter(identifyingColumns(table)).map((name) => {
    // Properties name nobody.
    if (name === embeddedPerson || name === heldIds?.name)
      return `CASE WHEN json_valid(${name})
        THEN EXISTS (SELECT 1 FROM json_tree(json_remove(${name}, '$.properties')) WHERE ${isSought('atom')}) ELSE true END`;
    // A key that is no identifier of its dataset can be any text, JSON too.
    return origin === 'feed' ? `${isSought(name)} OR ${name} NOT GLOB '[0-9A-Za-z]*'` : isSought(name);
  });
  return conditions.length === 0 ? undefined : conditions.join(' OR ');
}

/** SQL of DuckDB for each column: a text by which a row of a dataset may name somebody, in lower case where case may not count; undefined for each row. */
function textsInParquet(dataset: string, columns: ReadonlyMap<string, string>): string[] | undefined {
  const { heldIds, embeddedPerson } = findDataset(dataset) ?? {};
  const texts = [...columns]
    .filter(([name]) => identifyingColumns(dataset)(name))
    .map(([name, type]) => {
      if (name === heldIds?.column) return type === 'VARCHAR[]' ? `unnest(${name})` : undefined;
      if (type !== 'VARCHAR' && type !== 'BIGINT') return undefined;
      if (name !== embeddedPerson) return `lower(CAST(${name} AS VARCHAR))`;
      // Of an id that is no text, only digits say at once what it is.
      const id = String.raw`"id"\s*:\s*`;
      return `unnest(CASE WHEN contains(${name}, '${escape}') OR regexp_matches(${name}, '${id}([^"0-9n\\s]|[0-9]+[.eE])') THEN ['${escape}']
      ELSE list_concat(string_split(lower(${name}), '"'), regexp_extract_all(${name}, '${id}([0-9]+)', 1)) END)`;
    });
  // A column of such a name would be taken for the place of the row.
  const isOtherwise = [...columns.keys()].some((name) => rowPlaceNames.includes(name.toLowerCase()));
  const known = texts.filter((text) => text !== undefined);
  return known.length === 0 || known.length < texts.length || isOtherwise ? undefined : known;
}
