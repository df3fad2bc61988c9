import { publishedDatasets } from '../contract/datasets.ts';
import { AppError } from '../core/errors.ts';
import { maskKeyCheck } from '../export/masks.ts';
import { currentIds } from '../snapshot/manifest.ts';
import { publishedFilesIn } from '../snapshot/published-files.ts';

/** Checks that the hashes which readers load now were made under the key that the next export will use. */
export function checkMaskKey(dataDir: string): string {
  const own = maskKeyCheck(dataDir);
  const published = publishedFilesIn(dataDir);
  const current = published.readCurrent();
  const used = publishedDatasets
    .flatMap((dataset) => currentIds(current, dataset).map((snapshotId) => ({ dataset, snapshotId })))
    .flatMap((snapshot) => published.readManifest(snapshot).publication.mask)
    .flatMap((mask) => (typeof mask === 'string' ? [] : [mask.key]));
  if (used.length === 0) return 'no hash is published yet';
  if (used.every((key) => key === own)) return 'the published hashes are those of keys/mask.key';
  throw new AppError(
    own === undefined
      ? 'keys/mask.key is missing, under which the published hashes were made'
      : 'keys/mask.key is another key than the one under which the published hashes were made',
    {
      code: 'storage',
      hint: 'restore keys/mask.key from a backup; the next export would publish everything again, with other hashes',
    },
  );
}
