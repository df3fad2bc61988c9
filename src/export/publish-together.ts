import { explainStorageError } from '../core/storage-error.ts';
import { currentIds, snapshotOf } from '../snapshot/manifest.ts';
import { publishSnapshots } from '../snapshot/publish.ts';
import type { PublishedFiles } from '../snapshot/published-files.ts';
import { readIfSound } from '../snapshot/published-parts.ts';
import type { StagedSnapshot } from './export-dataset.ts';
import { removeExpired, showsAll, withdrawSnapshots } from './retire-snapshots.ts';

/** What was published of a dataset, and the ids of its snapshots that were removed. */
type PublishedExport = StagedSnapshot & { removed: string[] };

/** How staged snapshots are published. */
type Publishing = {
  published: PublishedFiles;
  /** How many full snapshots of each dataset are kept, with the current one. With two or more, readers can finish reading. */
  keep: number;
  /** Calls `publish`, or returns false where the snapshots must not be published any more. */
  publishing: (publish: () => void) => boolean;
};

/**
 * Publishes the snapshots that are staged, each of another dataset, all at once, and removes those beyond `keep`. After an
 * error, an abort or a refusal, nothing is left of them and nothing published has changed. Throws what `staging` throws, and
 * `storage` for disk and files.
 */
export async function publishTogether(
  { published, keep, publishing }: Publishing,
  staging: AsyncIterable<StagedSnapshot>,
): Promise<PublishedExport[] | 'refused'> {
  const staged: StagedSnapshot[] = [];
  const finished = () => staged.map((one) => one.finished);
  const withdraw = (): void =>
    withdrawSnapshots(
      published,
      finished().map(({ manifest }) => snapshotOf(manifest)),
    );
  try {
    for await (const one of staging) staged.push(one);
    const before = published.readCurrent();
    if (staged.length > 0 && !publishing(() => publishSnapshots(published, finished()))) {
      withdraw();
      return 'refused';
    }
    return staged.map((one) => {
      const { dataset, publication } = one.finished.manifest;
      // Readers of what shows more can finish: it leaves once it is not the last that was published before this.
      const decided = currentIds(before, dataset).map(
        (snapshotId) => readIfSound(published, { dataset, snapshotId })?.publication ?? showsAll,
      );
      const hiding = [...decided, publication];
      return Object.assign(one, { removed: removeExpired(published, dataset, { keep, hiding }) });
    });
  } catch (error) {
    try {
      withdraw();
    } catch {
      // The first error is the one to report, and the next export clears again.
    }
    throw explainStorageError(error, published.location) ?? error;
  }
}
