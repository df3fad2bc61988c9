import { AppError } from '../core/errors.ts';
import { shrinkHeap } from '../core/heap.ts';
import type { PublishedDataset } from '../contract/datasets.ts';
import { whileEpoch } from '../mirror/fence.ts';
import { withSnapshotSource } from '../mirror/snapshot-source.ts';
import { currentIds, type Manifest } from '../snapshot/manifest.ts';
import { exportDataset } from './export-dataset.ts';
import { findUnchanged, isMadeAlike } from './find-unchanged.ts';
import type { ExportContext, MirrorExport, MirrorExportTask } from './mirror-export.ts';
import { numberColumns } from './number-columns.ts';
import { publicationOf } from './promote-and-mask.ts';
import { isTableAsWanted, tableLocation } from './table-location.ts';

/** The snapshot that a delta goes on from, and the newest change that this snapshot shows. */
type DeltaBase = { snapshotId: string; changes: NonNullable<Manifest['changes']> };

const triesMax = 3;
const dayMs = 86_400_000;

/**
 * Publishes one moment of the mirror; again if a person was erased then. Publishes nothing where nothing has changed. Throws
 * as `exportDataset`, and `busy`.
 */
export async function exportMirror(context: ExportContext, task: MirrorExportTask): Promise<MirrorExport> {
  const unchanged = await findUnchanged(context, task);
  if (unchanged) return unchanged;
  for (let tries = 1; tries <= triesMax; tries += 1) {
    const result = await exportMoment(context, task);
    if (result !== 'outdated') return result;
  }
  throw new AppError(`people were erased during ${triesMax} exports of ${task.dataset} in a row`, {
    code: 'busy',
    hint: 'export again when no erasure runs',
    retryable: true,
  });
}

function exportMoment(
  context: ExportContext,
  { source: connection, dataset, kind, onProgress }: MirrorExportTask,
): Promise<MirrorExport | 'outdated'> {
  shrinkHeap();
  const { db, published, settings, clock, signal } = context;
  const location = tableLocation(context, dataset);
  const base = kind === 'delta' ? findDeltaBase(context, dataset) : undefined;
  const exporting = { ...settings.export, dataDir: settings.dataDir };
  const { publishTexts } = publicationOf(dataset, exporting);
  const reading = { since: base?.changes ?? null, textsOfPart: publishTexts ? settings.export.partRows : null };
  return withSnapshotSource(connection, dataset, reading, async (source) => {
    const { pass, erasureEpoch, changes, rowCount, rows } = source;
    const outdated = new Error('a person was erased since these rows were read');
    try {
      const result = await exportDataset({
        published,
        dataset,
        rows,
        settings: exporting,
        numbering: (columns) => numberColumns(context, dataset, columns),
        pass,
        erasureEpoch,
        changes,
        table: location === null ? null : { location, gone: source.gone },
        basedOn: source.kind === 'delta' ? base?.snapshotId : undefined,
        publishing: (publish) => {
          if (!whileEpoch(db, erasureEpoch, publish)) throw outdated;
        },
        clock,
        signal,
        onProgress: (done) => onProgress(done, rowCount),
      });
      return { dataset, verdict: pass?.verdict ?? null, unchangedSince: null, ...result };
    } catch (error) {
      if (error === outdated) return 'outdated';
      throw error;
    }
  });
}

/**
 * The snapshot that a delta of a dataset can go on from now. Undefined where a full snapshot has to be published: nothing is
 * published yet, or there are `export.deltasMax` deltas already; the full snapshot is older than half the time that rows stay
 * in the feed of deletions, without which a reader would miss deletions; columns or values are made otherwise now; or
 * the table is not as wanted. Throws
 * `storage` when CURRENT or a manifest is damaged.
 */
function findDeltaBase(context: ExportContext, dataset: PublishedDataset): DeltaBase | undefined {
  const { published, settings, clock } = context;
  const { deltasMax } = settings.export;
  const [fullId, ...deltaIds] = currentIds(published.readCurrent(), dataset);
  if (fullId === undefined || deltaIds.length >= deltasMax || !isTableAsWanted(context, dataset)) return undefined;
  const full = published.readManifest({ dataset, snapshotId: fullId });
  const oldestMs = clock.now() - (settings.erasure.feedRetentionDays / 2) * dayMs;
  if (Date.parse(full.created_at) < oldestMs) return undefined;
  const snapshotId = deltaIds.at(-1) ?? fullId;
  const newest = published.readManifest({ dataset, snapshotId });
  return newest.changes && isMadeAlike(context, dataset, newest) ? { snapshotId, changes: newest.changes } : undefined;
}
