import { tellCatalog } from '../../src/bucket/catalog.ts';
import type { BucketReport } from '../../src/bucket/keep.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import { addressOf, metadataName, readTable } from '../../src/snapshot/iceberg/table-files.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';

/** Tells a catalog of the tables in a folder. */
export function tell(
  dataDir: string,
  { uri }: { uri: string },
  set: Record<string, string | number> = {},
  bucket: BucketReport | null = null,
) {
  const pairs = Object.entries({ dataDir, 'export.catalog.uri': uri, 'retry.attemptsMax': 1, ...set });
  const { settings } = loadSettings({}, { set: pairs.map(([path, value]) => ({ path, value })) });
  const clock = { now: () => Date.now(), sleep: () => Promise.resolve() };
  return tellCatalog(
    { published: publishedFilesIn(dataDir), settings, clock, signal: new AbortController().signal },
    bucket,
  );
}

/** The address of the metadata that is published. */
export function published(dataDir: string): string {
  const table = readTable(publishedFilesIn(dataDir), 'distinct_ids');
  return addressOf(table?.metadata.location ?? '', metadataName(table?.entry.version ?? 0));
}
