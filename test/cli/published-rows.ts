import { createHash } from 'node:crypto';
import { listPublishedParts } from '../../src/snapshot/published-parts.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { readWithHyparquet } from '../snapshot/parquet-readers.ts';
import { contentOf } from './mirror-content.ts';

/** Every row of every generation of each dataset, as an independent reader finds them. */
export async function publishedRows(dataDir: string): Promise<Record<string, string[][]>> {
  const rows: Record<string, string[][]> = {};
  for (const { dataset, snapshotId, path } of listPublishedParts(publishedFilesIn(dataDir)))
    (rows[`${dataset} ${snapshotId}`] ??= []).push(
      ...(await readWithHyparquet(path)).map((row) => Object.values(row).map(String)),
    );
  return rows;
}

/**
 * A digest of the rows of each table of the mirror and of each published snapshot, those excepted that hold one of the
 * names as a whole value; and how many those are.
 */
export async function digestsWithout(
  dataDir: string,
  names: ReadonlySet<string>,
): Promise<{ digests: Record<string, string>; left: number }> {
  const digests: Record<string, string> = {};
  let left = 0;
  for (const [place, rows] of Object.entries({ ...contentOf(dataDir), ...(await publishedRows(dataDir)) })) {
    // The feed of deletions goes on telling of them.
    const isFeed = place.startsWith('deletions ');
    const others = rows.filter((row) => isFeed || !row.some((value) => names.has(String(value))));
    left += rows.length - others.length;
    const lines = others.map((row) => JSON.stringify(row.map(String))).toSorted();
    digests[place] = createHash('sha256').update(lines.join('\n')).digest('hex');
  }
  return { digests, left };
}
