import { behindReason, tellCatalog, type CatalogReport } from '../bucket/catalog.ts';
import { bucketCounts, keepBuckets, type BucketReport } from '../bucket/keep.ts';
import { isoTime } from '../core/clock.ts';
import { feedBegin } from '../erasure/plan.ts';
import { datasets as table, isMirrored, publishedDatasets, type PublishedDataset } from '../contract/datasets.ts';
import { refuseUnbound } from '../erasure/fence/restore-guard.ts';
import { exportMirror, listsOfOtherNumbers, noteFeed } from '../export/export-mirror.ts';
import type { MirrorExport } from '../export/mirror-export.ts';
import type { JobContext, OnProgress } from '../job/job-context.ts';
import { aboveDiskFloor } from '../job/disk-floor.ts';
import { runJob, type JobResult } from '../job/run-job.ts';
import { compactChanges } from '../mirror/feeds.ts';
import { lastCompletePasses } from '../mirror/passes.ts';
import { catalogueProperties } from '../mirror/properties.ts';
import type { Database } from '../mirror/database.ts';

/**
 * The published snapshots. Incomplete when the last pass over the list of one of them was not complete, when a dataset was
 * not published, or when the bucket or the catalog could not follow.
 */
export type ExportJobResult = JobResult & {
  snapshots: MirrorExport[];
  /** The datasets that were not published, since no full pass over their list has ever been complete. */
  neverComplete: PublishedDataset[];
  /** How the bucket followed; null where there is none. */
  bucket: BucketReport | null;
  /** What a catalog was told; null where there is none. */
  catalog: CatalogReport | null;
};

/** What to publish of which datasets, and from where. */
type ExportTask = {
  /** Null: all of them. Those of playlists are only meant where playlists are configured, or were read as a whole. */
  datasets: readonly PublishedDataset[] | null;
  kind: 'full' | 'delta';
  /** A connection to the mirror for reading only. */
  source: Database;
  onProgress?: OnProgress<PublishedDataset>;
};

/**
 * Publishes one snapshot of each dataset, as one run of `export` or of `delta`. A dataset whose list was never seen as a whole
 * is left out: a reader would take its rows for all there are.
 */
export function runExportJob(
  context: JobContext,
  { datasets: named, kind, source, onProgress = () => undefined }: ExportTask,
): Promise<ExportJobResult> {
  return runJob(
    context,
    kind === 'full' ? 'export' : 'delta',
    aboveDiskFloor(async (own) => {
      const { db, settings } = own;
      await refuseUnbound(own);
      const seenWhole = new Set(lastCompletePasses(db).map((pass) => pass.dataset));
      const isSeenWhole = (dataset: PublishedDataset): boolean => seenWhole.has(table[dataset].published.pass);
      const isMeant = (dataset: PublishedDataset): boolean =>
        table[dataset].published.pass !== 'playlists' || settings.playlists.shortIds.length > 0 || isSeenWhole(dataset);
      const isThere = (dataset: PublishedDataset): boolean =>
        own.published.readCurrent().snapshots[dataset] !== undefined ||
        (dataset === 'fence' && settings.export.fence.length > 0);
      const datasets = named ?? publishedDatasets.filter((one) => (one === 'fence' ? isThere(one) : isMeant(one)));
      const exported = withThoseThatBelong([...datasets, ...listsOfOtherNumbers(own)], isThere).filter(isSeenWhole);
      // First: what is new is told as soon as it can be published.
      const meant = settings.export.properties === 'listed' ? 'all' : 'newest';
      await catalogueProperties(db, { at: isoTime(own.clock.now()), meant, signal: own.signal });
      const snapshots = await exportMirror(own, { source, datasets: exported, kind, onProgress });
      // Later deltas continue these snapshots, so older changes need not be kept one by one.
      if (kind === 'full') compactChanges(db, feedBegin({ db, settings }));
      const counts = Object.fromEntries(snapshots.map(({ dataset, rows }) => [dataset, rows]));
      const neverComplete = datasets.filter((dataset) => !isSeenWhole(dataset));
      const isProved = neverComplete.length === 0 && snapshots.every(({ verdict }) => verdict === 'complete');
      const bucket = await keepBuckets(own);
      // A bucket that the settings name no more delays no deletion.
      if (settings.export.destination === null || bucket?.followed) noteFeed(own);
      const catalog = await tellCatalog(own, bucket);
      const result = { counts: { ...counts, ...bucketCounts(bucket) }, snapshots, neverComplete, bucket, catalog };
      const reason = behindReason(bucket, catalog);
      if (reason !== undefined) return { outcome: 'incomplete', reason, ...result };
      return { outcome: isProved ? 'done' : 'incomplete', ...result };
    }),
  );
}

/**
 * The datasets to publish, with those that readers join to them, so that they find all of one moment: `deletions`, by which
 * deltas and copies elsewhere lose rows, `passes`, which say how whole they are, the fence, where a consumer gets it, and what is made of
 * the same list, where it is published already.
 */
function withThoseThatBelong(
  named: readonly PublishedDataset[],
  isThere: (dataset: PublishedDataset) => boolean,
): PublishedDataset[] {
  const lists = new Set(named.filter(isMirrored).map((dataset) => table[dataset].published.pass));
  const belongs = (dataset: PublishedDataset): boolean => {
    if (dataset === 'deletions' || dataset === 'passes') return lists.size > 0;
    if (dataset === 'fence') return lists.size > 0 && isThere(dataset);
    return !isMirrored(dataset) && lists.has(table[dataset].published.pass) && isThere(dataset);
  };
  return publishedDatasets.filter((dataset) => named.includes(dataset) || belongs(dataset));
}
