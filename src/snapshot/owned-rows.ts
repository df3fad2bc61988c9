import type { DuckDBConnection } from '@duckdb/node-api';
import { datasets, type PublishedDataset } from '../contract/datasets.ts';
import type { Identity } from '../contract/identity.ts';
import { loadTexts, parquetRows, sqlName } from './duckdb.ts';
import { knownTexts } from './subject-rows.ts';

/** Puts the identities of several subjects, by their places in a list, into the connection's temporary table `owned`. */
export async function loadOwners(connection: DuckDBConnection, identities: readonly Identity[]): Promise<void> {
  const rows = function* (): Generator<string[]> {
    for (const [owner, identity] of identities.entries())
      for (const [kind, value] of knownTexts(identity)) yield [String(owner), kind, value];
  };
  await loadTexts(connection, 'owned', ['owner', 'kind', 'value'], rows());
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
        FROM ${parquetRows([path])}`,
  );
  const counts = await connection.runAndReadAll(`SELECT owner, count(DISTINCT row)
    FROM (${named.join(' UNION ALL ')}) JOIN owned USING (kind, value)
    WHERE row IN (SELECT row FROM gone) GROUP BY owner`);
  const rowsOf = new Map(counts.getRows().map(([owner, rows]) => [Number(owner), Number(rows)]));
  return Array.from({ length: owners }, (_none, owner) => rowsOf.get(owner) ?? 0);
}
