import { publishedDatasets } from '../contract/datasets.ts';
import type { Lock, NewObject, ObjectFacts, ObjectVersion } from './bucket.ts';

/** A published file: its path below the folder of snapshots, and its bytes. */
export type LocalFile = Pick<NewObject, 'path' | 'from' | 'bytes' | 'sha256'>;

/** The paths that published files have: nothing else is read from the folder, or touched in the bucket. */
const ours = new RegExp(
  `^(?:CURRENT\\.json|(?:${publishedDatasets.join('|')})/(?:\\d{8}T\\d{6}\\.\\d{3}Z|metadata|data)/[^/]+\\.(?:parquet|avro|json|text|puffin))$`,
);

/** Whether a path is one that this program writes, by its name alone. */
export function isOurs(path: string): boolean {
  return ours.test(path);
}

/** When a file is put, lowest first; it is removed in the opposite order. What names others comes after them. */
const ranks = [/\.(?:parquet|puffin)$/, /\.avro$/, /\.json$/, /\/version-hint\.text$/, /^CURRENT\.json$/];

/** The files in groups, in the order in which they may be put: no reader finds a name without the file. */
export function inOrder<T extends { path: string }>(files: readonly T[]): T[][] {
  const groups = ranks.map((): T[] => []);
  for (const file of files) groups[ranks.findLastIndex((rank) => rank.test(file.path))]?.push(file);
  return groups.filter((group) => group.length > 0);
}

/** How a bucket stands to a folder: what has to be put, over what; and which versions no file of the folder is. */
export type Comparison = { missing: NewObject[]; different: NewObject[]; superfluous: ObjectVersion[] };

/** Compares. `facts`: of each object whose name and length are those of a file, and of the pointers. */
export function compare(
  files: readonly LocalFile[],
  versions: readonly ObjectVersion[],
  facts: ReadonlyMap<string, ObjectFacts>,
): Comparison {
  const standing = new Map(
    versions.filter(({ isLatest, isMarker }) => isLatest && !isMarker).map((version) => [version.path, version]),
  );
  const wanted = new Set(files.map(({ path }) => path));
  return {
    missing: files.flatMap((file) => (standing.has(file.path) ? [] : [{ ...file, over: null }])),
    different: files.flatMap((file) => {
      const version = standing.get(file.path);
      const known = facts.get(file.path);
      if (!version || (known?.sha256 === file.sha256 && version.isArchived !== true)) return [];
      return [{ ...file, over: known?.etag ?? version.etag }];
    }),
    superfluous: versions.filter(
      (version) => isOurs(version.path) && !(wanted.has(version.path) && standing.get(version.path) === version),
    ),
  };
}

/** When the last of some locks ends; null where the end of one is not known. */
export function lastEnd(locks: readonly Lock[]): string | null {
  let last = '';
  for (const { until } of locks) {
    if (until === null) return null;
    if (until > last) last = until;
  }
  return last;
}
