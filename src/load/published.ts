import { publishedDatasets, type PublishedDataset } from '../contract/datasets.ts';
import { sha256 } from '../core/digest.ts';
import { AppError } from '../core/errors.ts';
import { addedColumns, publishedShapes } from '../snapshot/columns.ts';
import { listCurrentSnapshots } from '../snapshot/current-snapshots.ts';
import { parquetRows, sqlName, sqlText } from '../snapshot/duckdb.ts';
import { deletionsOf, newestVersions, presentRows } from '../snapshot/load-sql.ts';
import type { PublishedFiles } from '../snapshot/published-files.ts';
import type { LoadedColumn } from './dialect.ts';

/** A snapshot, with the digest of all manifests from the full snapshot to its own. */
type Link = { snapshotId: string; digest: string; seq: number; epoch: number; rows: number; paths: readonly string[] };

/** What is published of a dataset now. */
export type PublishedTable = {
  dataset: PublishedDataset;
  /** The column that its rows are known by. */
  key: string;
  /** The columns that are loaded: all but `_seq` of mirrored datasets, which tells the order of snapshots only. */
  columns: readonly LoadedColumn[];
  /** The full snapshot, then the deltas that follow it, oldest first; and the last of these. */
  links: readonly Link[];
  newest: Link;
  /** What tells which rows have left, and the digest of it; null where there are no deltas. */
  gone: { digest: string; paths: readonly string[] } | null;
  /** Of the pass that the newest snapshot was made after; null where there was none. */
  verdict: 'complete' | 'incomplete' | null;
};

/**
 * The tables of the published snapshots. Throws `storage` where nothing is published, CURRENT or a manifest is damaged, or deltas lack
 * their deletions.
 */
export function publishedTables(published: PublishedFiles): PublishedTable[] {
  const all = listCurrentSnapshots(published);
  if (all.length === 0)
    throw new AppError('nothing is published', { code: 'storage', hint: 'run `analytics-mirror export` first' });
  const digestOf = (dataset: string, snapshotId: string): string =>
    published.digestOfManifest({ dataset, snapshotId }) ?? '';
  return publishedDatasets.flatMap((dataset): PublishedTable[] => {
    const own = all.filter((one) => one.dataset === dataset);
    const manifests = own.map(({ snapshotId }) => published.readManifest({ dataset, snapshotId }));
    const added = addedColumns(dataset).map(({ name }) => name);
    let digest = '';
    let epoch = 0;
    const links = own.map(({ snapshotId, files }, index): Link => {
      digest = sha256(`${digest}${digestOf(dataset, snapshotId)}`);
      epoch = Math.max(epoch, manifests[index]?.erasure_epoch ?? 0);
      const { seq = 0, rows = 0 } = manifests[index] ?? {};
      return { snapshotId, digest, seq, epoch, rows, paths: files.map(({ path }) => path) };
    });
    const [newest, manifest] = [links.at(-1), manifests.at(-1)];
    if (newest === undefined || manifest === undefined) return [];
    const left = deletionsOf(all, dataset);
    return [
      {
        dataset,
        key: publishedShapes[dataset].key.name,
        columns: manifest.columns.flatMap(({ name, type }) => (added.includes(name) ? [] : [{ name, type }])),
        links,
        newest,
        gone:
          left.length === 0
            ? null
            : {
                digest: sha256(left.map(({ snapshotId }) => digestOf('deletions', snapshotId)).join()),
                paths: left.flatMap(({ files }) => files.map(({ path }) => path)),
              },
        verdict: manifest.pass?.verdict ?? null,
      },
    ];
  });
}

/** All present rows of a table, as DuckDB's SELECT. */
export function allRows({ dataset, links, gone }: PublishedTable): string {
  const [full, ...deltas] = links.map(({ paths }) => paths);
  return presentRows(dataset, { full: full ?? [], deltas: deltas.flat(), gone: gone?.paths ?? [] });
}

/** The present rows of the snapshots after `index`, each at its newest, as DuckDB's SELECT; null where there are no such snapshots. */
export function rowsAfter({ dataset, links, gone }: PublishedTable, index: number): string | null {
  const deltas = links.slice(index + 1).flatMap(({ paths }) => paths);
  return deltas.length === 0 ? null : newestVersions(dataset, { deltas, gone: gone?.paths ?? [] });
}

/** The keys, in their column, of rows that have left since the snapshot at `index`, as DuckDB's SELECT; null where none can have left. */
export function goneAfter({ dataset, key, links, gone }: PublishedTable, index: number): string | null {
  if (gone === null) return null;
  return `SELECT key AS ${sqlName(key)} FROM ${parquetRows(gone.paths)} WHERE dataset = ${sqlText(dataset)} AND _seq > ${links[index]?.seq ?? 0}`;
}
