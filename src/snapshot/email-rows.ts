import type { DuckDBConnection } from '@duckdb/node-api';
import { emailPlace, type PagedDataset } from '../contract/datasets.ts';
import type { Sighting } from '../contract/identity.ts';
import { loadTexts, parquetRows, sqlName, withDuckDb } from './duckdb.ts';
import { checkPartRows, checkPartSize, listPublishedParts, unreadablePart } from './published-parts.ts';
import type { PublishedFiles } from './published-files.ts';
import { foundRows, searchMemoryMaxMb } from './subject-rows.ts';

/**
 * Finds every row of every generation of persons and recordings that shows one of some e-mail addresses (as `emailKey` spells
 * them), in one pass over the files. `onlyUnnamed`: only rows without the uuid of a person. Throws `storage` when a part is
 * missing or cannot be read, and the signal's reason when aborted.
 */
export async function locateEmails(
  published: PublishedFiles,
  emails: ReadonlySet<string>,
  { onlyUnnamed, signal }: { onlyUnnamed: boolean; signal: AbortSignal },
): Promise<Sighting[]> {
  const found: Sighting[] = [];
  if (emails.size === 0) return found;
  const limits = { folders: [published.localFolder], memoryMaxMb: searchMemoryMaxMb, threads: 2, signal };
  await withDuckDb(limits, async (connection) => {
    await loadTexts(
      connection,
      'wanted',
      ['email'],
      [...emails].map((email) => [email.toWellFormed()]),
    );
    for (const part of listPublishedParts(published)) {
      const { dataset, path } = part;
      if (!(dataset === 'recordings' || (dataset === 'persons' && !onlyUnnamed))) continue;
      signal.throwIfAborted();
      checkPartSize(published, part);
      try {
        await checkPartRows(connection, part);
        const rows = await findRows(connection, dataset, path, onlyUnnamed);
        found.push(...rows.filter(({ email }) => email !== undefined && emails.has(email)));
      } catch (error) {
        signal.throwIfAborted();
        throw unreadablePart(part, error);
      }
    }
  });
  return found;
}

/**
 * The rows of a part that may show an address. DuckDB decides about addresses in plain ASCII, which nearly all are. An
 * address with another letter or an escape is left to the caller. DuckDB's own JSON refuses a lone surrogate.
 */
async function findRows(
  connection: DuckDBConnection,
  dataset: PagedDataset,
  path: string,
  onlyUnnamed: boolean,
): Promise<Sighting[]> {
  const part = parquetRows([path]);
  const { column } = emailPlace(dataset);
  const rows = await connection.runAndReadAll(`SELECT * FROM ${part} WHERE file_row_number IN (
    SELECT row FROM (
      SELECT row, split_part(unnest(string_split(text, '"email":"')[2:]), '"', 1) AS email FROM (
        SELECT file_row_number AS row, ${sqlName(column)} AS text FROM ${part}
        WHERE ${onlyUnnamed ? 'person_uuid IS NULL AND ' : ''}contains(${sqlName(column)}, '"email":"')))
    WHERE lower(trim(email)) IN (SELECT email FROM wanted) OR strlen(email) <> length(email) OR contains(email, '\\'))`);
  return rows.getRowObjectsJS().map(foundRows(dataset));
}
