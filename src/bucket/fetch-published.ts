import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inBatches } from '../core/batches.ts';
import { syncToDisk } from '../core/atomic-file.ts';
import type { PublishedFiles } from '../snapshot/published-files.ts';
import type { Bucket } from './bucket.ts';
import { inOrder, isOurs } from './follow-plan.ts';

/**
 * Fetches the published files that a bucket has into a folder without any, pointers last. Whether they are those of the ledger is seen
 * by what holds the folder against it, as after a restore. Nothing else may write to either meanwhile.
 */
export async function fetchPublished(bucket: Bucket, published: PublishedFiles, signal: AbortSignal): Promise<void> {
  const standing = (await bucket.listVersions()).filter(
    ({ path, isLatest, isMarker }) => isLatest && !isMarker && isOurs(path),
  );
  for (const group of inOrder(standing))
    await inBatches(group, { atOnce: 4, signal }, async ({ path, bytes }) => {
      const to = join(published.localFolder, path);
      mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
      if (await bucket.fetch(path, to, bytes)) syncToDisk(to);
    });
}
