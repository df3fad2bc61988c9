import type { DuckDBConnection, JS } from '@duckdb/node-api';
import { datasets, type PublishedDataset } from '../contract/datasets.ts';
import type { Identity, Sighting } from '../contract/identity.ts';
import { sightingOf } from '../contract/row-readers.ts';
import { sqlText, withDuckDb } from './duckdb.ts';
import {
  type PublishedPart,
  checkPartRows,
  checkPartSize,
  listPublishedParts,
  unreadablePart,
} from './published-parts.ts';
import type { PublishedFiles } from './published-files.ts';
import { canHold, isPersonal, loadIdentity, markSubjectRows } from './subject-rows.ts';

/** A part that holds a subject. `rows`: all its rows; `found`: the rows that are the subject's, or name it. */
export type FoundPart = {
  dataset: PublishedDataset;
  snapshotId: string;
  name: string;
  rows: number;
  found: Sighting[];
};

/** How much was searched, and the parts that hold the identity, by dataset and age. */
export type Located = { searched: { files: number; rows: number; bytes: number }; parts: FoundPart[] };

const memoryMaxMb = 512;

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
  const limits = { folders: [published.localFolder], memoryMaxMb, threads: 2, signal };
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
  const rows = await connection.runAndReadAll(`SELECT * FROM read_parquet(${sqlText(path)})
    WHERE file_row_number IN (SELECT row FROM gone UNION ALL SELECT row FROM trimmed) ORDER BY file_row_number`);
  return rows.getRowObjectsJS().map((row) => foundRow(dataset, row));
}

/** A row of a part as a sighting: its columns under the names of the mirror's fields. */
function foundRow(dataset: PublishedDataset, row: Readonly<Record<string, JS>>): Sighting {
  const names = new Map(datasets[dataset].publishedFields.map(({ name, column }) => [column, name]));
  return sightingOf(
    dataset,
    Object.fromEntries(Object.entries(row).map(([column, value]) => [names.get(column) ?? column, value])),
  );
}
