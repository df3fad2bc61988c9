import { emailPlace, pagedDatasets, type PagedDataset } from '../contract/datasets.ts';
import type { Sighting } from '../contract/identity.ts';
import { loadTexts, sqlName } from './duckdb.ts';
import { rowPlace, rowsOfParts } from './mark-rows.ts';
import { listPublishedParts } from './published-parts.ts';
import type { PublishedFiles } from './published-files.ts';
import { searchParts } from './search-parts.ts';

/**
 * Finds every row of every generation of persons and recordings that shows one of some e-mail addresses (as `emailKey` spells
 * them), in one pass over the files, as `searchParts` promises. `onlyUnnamed`: only rows without the uuid of a person.
 */
export async function locateEmails(
  published: PublishedFiles,
  emails: ReadonlySet<string>,
  { onlyUnnamed, signal }: { onlyUnnamed: boolean; signal: AbortSignal },
): Promise<Sighting[]> {
  if (emails.size === 0) return [];
  const wanted = pagedDatasets.filter((dataset) => dataset === 'recordings' || !onlyUnnamed);
  const search = searchParts(
    published,
    listPublishedParts(published).filter(({ dataset }) => wanted.some((one) => one === dataset)),
    {
      prepare: (connection) =>
        loadTexts(
          connection,
          'wanted',
          ['email'],
          [...emails].map((email) => [email.toWellFormed()]),
        ),
      sought: (_connection, dataset, paths) =>
        Promise.resolve(rowsThatMayShow(dataset as PagedDataset, rowsOfParts(paths), onlyUnnamed)),
    },
    signal,
  );
  const found: Sighting[] = [];
  for await (const { rows } of search)
    found.push(...rows.filter(({ email }) => email !== undefined && emails.has(email)));
  return found;
}

/**
 * The places of the rows that may show an address. DuckDB decides about addresses in plain ASCII, which nearly all are. An
 * address with another letter or an escape is left to the caller. DuckDB's own JSON refuses a lone surrogate.
 */
function rowsThatMayShow(dataset: PagedDataset, rows: string, onlyUnnamed: boolean): string {
  const column = sqlName(emailPlace(dataset).column);
  return `SELECT file, row FROM (
      SELECT file, row, split_part(unnest(string_split(text, '"email":"')[2:]), '"', 1) AS email FROM (
        SELECT ${rowPlace}, ${column} AS text FROM ${rows}
        WHERE ${onlyUnnamed ? 'person_uuid IS NULL AND ' : ''}contains(${column}, '"email":"')))
    WHERE lower(trim(email)) IN (SELECT email FROM wanted) OR strlen(email) <> length(email) OR contains(email, '\\')`;
}
