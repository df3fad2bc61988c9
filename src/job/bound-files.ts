import { publishedDatasets, type PublishedDataset } from '../contract/datasets.ts';
import { sha256 } from '../core/digest.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { fileText, type PublishedFiles } from '../snapshot/published-files.ts';

/**
 * The published files, so that the ledger has each manifest before it stands and after. A ledger that has not begun to record
 * publications stays so: nobody was erased yet, or `reconcile` begins. After a kill between the two records, the next run
 * looks at the disk (`recoverPublications`).
 */
export function boundFiles(published: PublishedFiles, ledger: () => Ledger): PublishedFiles {
  const record = (
    dataset: string,
    manifests: readonly [snapshotId: string, digest: string | null][],
    act: () => void,
  ) => {
    if (manifests.length === 0 || !ledger().bound.publications.isBegun()) return act();
    const snapshots = manifests.map(([snapshotId, manifest]) => ({
      dataset: requireDataset(dataset),
      snapshot_id: snapshotId,
      manifest,
    }));
    ledger().append([{ type: 'publishing', snapshots }]);
    act();
    ledger().append([{ type: 'published', cause: 'publication', snapshots }]);
  };
  return {
    ...published,
    writeManifest: (manifest) =>
      record(manifest.dataset, [[manifest.snapshot_id, sha256(fileText(manifest))]], () =>
        published.writeManifest(manifest),
      ),
    removeSnapshots: (dataset, snapshotIds) => {
      const recorded = snapshotIds.filter((id) => ledger().bound.publications.of(dataset, id) !== undefined);
      record(
        dataset,
        recorded.map((id) => [id, null]),
        () => published.removeSnapshots(dataset, snapshotIds),
      );
    },
  };
}

function requireDataset(name: string): PublishedDataset {
  const dataset = publishedDatasets.find((known) => known === name);
  if (!dataset) throw new Error('a dataset that is not published');
  return dataset;
}
