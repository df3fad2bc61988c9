import type { PublishedDataset } from '../contract/datasets.ts';
import type { JobContext } from '../job/job-context.ts';
import type { Database } from '../mirror/database.ts';
import type { ExportResult } from './export-dataset.ts';

/** What an export works with. `db` is for writing: no erasure can commit while a snapshot is published. */
export type ExportContext = Pick<JobContext, 'db' | 'published' | 'settings' | 'clock' | 'signal'>;

/** What to publish of the mirror. */
export type MirrorExportTask = {
  /** A connection to the mirror that serves nothing else meanwhile. */
  source: Database;
  /** Each once. Deltas need `deletions` among them: without, full snapshots are published. */
  datasets: readonly PublishedDataset[];
  /** A delta has the rows that changed since the newest snapshot. Where that cannot be told, a full one is published. */
  kind: 'full' | 'delta';
  onProgress: (dataset: PublishedDataset, rows: number, total: number) => void;
};

/**
 * What is published now of a dataset, the ids of the snapshots that were removed, and the verdict of the newest pass; null when no pass has ended yet. `unchangedSince`: when the
 * snapshot was published, where a new one would have been no other; null where this export has published it.
 */
export type MirrorExport = ExportResult & {
  dataset: PublishedDataset;
  removed: string[];
  verdict: 'complete' | 'incomplete' | null;
  unchangedSince: string | null;
};
