import { isDeepStrictEqual } from 'node:util';
import { datasets, type PublishedDataset } from '../contract/datasets.ts';
import type { Columns } from '../contract/tolerant-reader.ts';
import type { Database } from '../mirror/database.ts';
import { readEpoch } from '../mirror/fence.ts';
import { fenceDigest, fenceRows } from '../mirror/fence-entries.ts';
import { lastJudgedPass, newestEndedPass } from '../mirror/passes.ts';
import { isUnchangedSince } from '../mirror/snapshot-source.ts';
import { addedColumns } from '../snapshot/columns.ts';
import { currentIds, type Manifest } from '../snapshot/manifest.ts';
import { verifySnapshot } from '../snapshot/verify.ts';
import type { ExportContext, MirrorExport, MirrorExportTask } from './mirror-export.ts';
import { numberColumns } from './number-columns.ts';
import { publicationOf } from './promote-and-mask.ts';
import { removeExpired } from './retire-snapshots.ts';
import { isTableAsWanted } from './table-location.ts';

/**
 * The newest snapshot of a kind, where a new one would be no other: no row has changed since, no person was erased, the settings
 * and the layout are the same, its files and those of its table are whole, and the newest pass proves no more than its own did. Undefined
 * otherwise, and where that cannot be told. Snapshots whose time is over are removed also then.
 */
export async function findUnchanged(
  context: ExportContext,
  { source, kind }: Pick<MirrorExportTask, 'source' | 'kind'>,
  dataset: PublishedDataset,
): Promise<MirrorExport | undefined> {
  const { published, settings, signal } = context;
  const ids = currentIds(published.readCurrent(), dataset);
  // Readers of a delta read all that it goes on from.
  const needed = kind === 'full' ? ids.slice(0, 1) : ids;
  // An export reads as much to write, so every byte can be read to be sure; a delta costs next to nothing.
  const depth = kind === 'full' ? 'bytes' : 'size';
  const verify = (id: string) => verifySnapshot(published, { dataset, snapshotId: id }, () => depth, signal);
  const verified = await Promise.all(needed.map(verify));
  const [snapshotId, manifest] = [needed.at(-1), verified.at(-1)?.manifest];
  if (snapshotId === undefined || !manifest || verified.some(({ problems }) => problems.length > 0)) return undefined;
  if (!isMadeAlike(context, dataset, manifest)) return undefined;
  const verdict = lastJudgedPass(source, datasets[dataset].published.pass)?.verdict ?? null;
  const isAsProved = manifest.pass?.verdict === 'complete' || (manifest.pass?.verdict ?? null) === verdict;
  const isAsSplit = manifest.publication.part_rows === settings.export.partRows;
  const isOfNow = manifest.erasure_epoch === readEpoch(source);
  if (kind === 'full' && !(isAsProved && isAsSplit && isOfNow)) return undefined;
  if (!isTableAsWanted(context, dataset)) return undefined;
  if (dataset === 'passes' && !isDeepStrictEqual(manifest.newest_pass, newestEndedPass(source))) return undefined;
  // A chain of deltas has more rows than the mirror.
  const rowsThen = ids.length === 1 ? manifest.rows : undefined;
  const isUnchanged =
    dataset === 'fence'
      ? manifest.fence === fenceDigest(fenceOf(context, source))
      : manifest.changes !== undefined && isUnchangedSince(source, dataset, manifest.changes, rowsThen);
  if (!isUnchanged) return undefined;
  const { created_at: unchangedSince, kind: found, rows, files, publication } = manifest;
  const retention = { keep: settings.export.keep, hiding: [publication] };
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const removed = removeExpired(published, dataset, retention);
  return {
    dataset,
    verdict,
    unchangedSince,
    snapshotId,
    kind: found,
    rows,
    files: files.length,
    bytes,
    unrepresentable: 0,
    removed,
  };
}

/** The rows of `fence` as they are to be published now. */
export function fenceOf({ settings }: Pick<ExportContext, 'settings'>, source: Database): Columns[] {
  const consumers = settings.export.fence.map(({ consumer }) => consumer);
  return fenceRows(source, settings.dataDir, consumers);
}

/** Whether a snapshot was made with the columns, settings and layout that a new one would have. Parts may be of another size. */
export function isMadeAlike(
  context: ExportContext,
  dataset: PublishedDataset,
  { columns, publication }: Manifest,
): boolean {
  const { dataDir, export: exporting } = context.settings;
  const { shape, decided } = publicationOf(dataset, { ...exporting, dataDir });
  const wanted = numberColumns(context, dataset, [...shape.columns, ...addedColumns(dataset)]);
  return isDeepStrictEqual({ wanted, ...decided, part_rows: 0 }, { wanted: columns, ...publication, part_rows: 0 });
}
