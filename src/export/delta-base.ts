import type { Settings } from '../config/settings.ts';
import type { Dataset } from '../snapshot/columns.ts';
import { currentIds, readCurrent, readManifest, type Manifest } from '../snapshot/manifest.ts';
import { publicationOf } from './promote-and-mask.ts';

/** The snapshot that a delta goes on from: the newest of its dataset, and the change up to which that shows everything. */
export type DeltaBase = { snapshotId: string; changes: NonNullable<Manifest['changes']> };

const dayMs = 86_400_000;

/**
 * What a delta of a dataset can go on from now. Undefined where it has to be a full snapshot: nothing is published yet, or
 * there are `export.deltasMax` deltas already; the full snapshot is older than half the time that deletions stay in their
 * feed, without which it cannot be read rightly; or its columns are others. Throws `storage` when CURRENT or a manifest is damaged.
 */
export function findDeltaBase(
  { dataDir, export: settings, erasure }: Settings,
  dataset: Dataset,
  nowMs: number,
): DeltaBase | undefined {
  const [fullId, ...deltaIds] = currentIds(readCurrent(dataDir), dataset);
  if (fullId === undefined || deltaIds.length >= settings.deltasMax) return undefined;
  const full = readManifest(dataDir, dataset, fullId);
  if (Date.parse(full.created_at) < nowMs - (erasure.feedRetentionDays / 2) * dayMs) return undefined;
  const snapshotId = deltaIds.at(-1) ?? fullId;
  const { changes, columns } = readManifest(dataDir, dataset, snapshotId);
  const wanted = publicationOf(dataset, settings).shape.columns.map(({ name, type }) => ({ name, type }));
  const isAlike = JSON.stringify(wanted) === JSON.stringify(columns);
  return changes && isAlike ? { snapshotId, changes } : undefined;
}
