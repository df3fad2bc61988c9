import { basename } from 'node:path';
import { publishedDatasets } from '../contract/datasets.ts';
import { entriesBelow, isDraft, pathBelow } from '../core/folder.ts';
import type { PublishedFiles } from './published-files.ts';

/** The paths of files that a manifest or CURRENT names, or should. */
const own = new RegExp(
  `^(?:CURRENT\\.json|(?:${publishedDatasets.join('|')})/(?:\\d{8}T\\d{6}\\.\\d{3}Z/(?:manifest\\.json|part-\\d{5,}\\.parquet)|metadata/[^/]+))$`,
);

/**
 * The places of files, and of links to any, among the published ones that by their names this program has not put there; none whose name
 * begins with a dot. A writer may be at work.
 */
export function foreignFiles({ localFolder }: Pick<PublishedFiles, 'localFolder'>): string[] {
  return entriesBelow(localFolder)
    .filter(({ name }) => !name.startsWith('.') && !isDraft(name))
    .map((entry) => pathBelow(localFolder, entry))
    .filter((path) => !own.test(path))
    .map((path) => `${basename(localFolder)}/${path}`)
    .toSorted((a, b) => (a < b ? -1 : 1));
}
