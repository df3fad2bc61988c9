import { datasets, keyKind, type PublishedDataset } from '../contract/datasets.ts';
import { type Identity, type Sighting, withoutReusableId } from '../contract/identity.ts';
import { markSubjectRows } from './mark-rows.ts';
import type { PublishedFiles } from './published-files.ts';
import { listPublishedParts, type PublishedPart } from './published-parts.ts';
import { searchParts } from './search-parts.ts';

/** A part that holds a subject. `rows`: all its rows. */
export type FoundPart = Pick<PublishedPart, 'dataset' | 'snapshotId' | 'name' | 'rows'>;

/** How much was searched. */
type Searched = { files: number; rows: number; bytes: number };

/**
 * How published files are searched. `onRow` takes each row that is the subject's, or names it, by dataset and age; rows of one part come
 * with the same object.
 */
type SearchOptions = { signal: AbortSignal; onRow: (part: FoundPart, row: Sighting) => void };

/**
 * Finds every row of every generation of persons, recordings and distinct ids that is the identity's or names one of its
 * distinct ids, as `searchParts` promises. The feed of deletions is not searched: its rows stay.
 */
export async function searchIdentity(
  published: PublishedFiles,
  identity: Identity,
  { signal, onRow }: SearchOptions,
): Promise<Searched> {
  const parts = listPublishedParts(published).filter(({ dataset }) => isPersonal(dataset));
  const search = searchParts(
    published,
    parts,
    {
      sought: async (connection, dataset, paths) => {
        await markSubjectRows(connection, dataset, paths, [identity]);
        return 'SELECT file, row FROM gone UNION ALL SELECT file, row FROM trimmed';
      },
    },
    signal,
  );
  for await (const { part, rows } of search) for (const row of rows) onRow(part, row);
  const sum = (count: 'rows' | 'bytes'): number => parts.reduce((all, part) => all + part[count], 0);
  return { files: parts.length, rows: sum('rows'), bytes: sum('bytes') };
}

/** As `searchIdentity`, for the rows that are one subject's own, with these in memory. */
export async function locateIdentity(
  published: PublishedFiles,
  identity: Identity,
  { signal }: { signal: AbortSignal },
): Promise<{ searched: Searched; parts: (FoundPart & { found: Sighting[] })[] }> {
  const parts = new Map<FoundPart, FoundPart & { found: Sighting[] }>();
  const onRow = (part: FoundPart, row: Sighting): void => {
    const { dataset, snapshotId, name, rows } = part;
    const located = parts.get(part) ?? { dataset, snapshotId, name, rows, found: [] };
    parts.set(part, located);
    located.found.push(row);
  };
  const searched = await searchIdentity(published, withoutReusableId(identity), { signal, onRow });
  return { searched, parts: [...parts.values()] };
}

/** Whether rows of a dataset are about persons, so that an erasure removes them. Rows of the feed of deletions stay. */
export function isPersonal(dataset: string): boolean {
  return keyKind(dataset) !== undefined;
}

/**
 * The identifiers in every row of the wanted snapshots (`persons/20261120T125500.123Z`), in batches, as `searchParts` promises.
 * Other columns are not read.
 */
export async function* readSightings(
  published: PublishedFiles,
  isWanted: (snapshot: string) => boolean,
  signal: AbortSignal,
): AsyncGenerator<Sighting[]> {
  const parts = listPublishedParts(published).filter(
    ({ dataset, snapshotId }) => isPersonal(dataset) && isWanted(`${dataset}/${snapshotId}`),
  );
  for await (const { rows } of searchParts(published, parts, { columns: identifyingColumns }, signal)) yield rows;
}

function identifyingColumns(dataset: PublishedDataset): string[] {
  const { identifiers, heldIds, embeddedPerson, publishedFields } = datasets[dataset];
  const names = new Set([...identifiers.map(({ name }) => name), heldIds?.name, embeddedPerson]);
  return publishedFields.filter(({ name }) => names.has(name)).map(({ column }) => column);
}
