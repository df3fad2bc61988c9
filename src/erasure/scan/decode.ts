import type { IdentifierKind, Identity } from '../../contract/identity.ts';
import type { Findings } from './findings.ts';
import { identifierKindsOf, identifierValue, indexIdentities, type Leaf } from './identity-index.ts';
import { leavesOf } from './leaves.ts';
import type { SharedText } from './shared-text.ts';

/**
 * What a row is: one that rightly remains if it identifies nobody who is looked for; one of a feed that tells of
 * deletions; or anything else, which vouches for nothing.
 */
export type RowOrigin = 'rightful' | 'feed' | 'other';

/** A decoded row of a table or a dataset. */
type DecodedRow = {
  file: string;
  dataset: string;
  origin: RowOrigin;
  columns: readonly string[];
  values: readonly unknown[];
};

/** Looks for identifiers in decoded values, and learns from the rows of others what text is shared. */
export type Decoder = {
  takeRow(row: DecodedRow): void;
  /** A value of a JSON file. `isFeed`: of a feed that tells of deletions. */
  takeJson(place: string, value: unknown, isFeed: boolean): void;
};

/** Whether an identifier is fenced; undefined where nobody asks. */
export type IsFenced = ((kind: IdentifierKind, value: string) => boolean) | undefined;

/** Kinds that feeds hold rightly, until their rows expire. */
const feedKinds: readonly IdentifierKind[] = ['person_uuid', 'recording_id'];
/** The same identifiers stand in many places; so many answers are remembered. */
const answersMax = 1_000_000;

/** Prepares the search for identities in decoded values. */
export function createDecoder(
  identities: readonly Identity[],
  findings: Findings,
  shared: SharedText,
  isFenced: IsFenced,
): Decoder {
  const findSubjects = indexIdentities(identities);
  const findFence = rememberFree(isFenced);

  /** Notes whom a leaf identifies. */
  const takeLeaf = (leaf: Leaf, place: string, isFeed: boolean, met: Met): void => {
    const mayStand = (kind: IdentifierKind): boolean => isFeed && feedKinds.includes(kind);
    const found = findSubjects(leaf);
    const kinds = findFence ? identifierKindsOf(leaf) : [];
    // Nearly all leaves are nobody's: they must cost nothing more.
    if (found.length + kinds.length === 0) return;
    const exempt = new Set(found.filter(({ kind }) => mayStand(kind)).map(({ subject }) => subject));
    const told = found.filter(({ subject }) => !exempt.has(subject));
    for (const { subject, isInPlace } of told) if (isInPlace) met.owners.add(subject);
    for (const subject of new Set(told.map((one) => one.subject))) met.hits.push({ subject, place });
    const value = identifierValue(leaf.value);
    const fenced = kinds.filter((kind) => findFence?.(kind, value));
    const kept = fenced.some(mayStand) ? [] : fenced;
    for (const kind of kept) findings.addFenced(place, kind);
    met.isFenced ||= kept.length > 0;
  };

  return {
    takeRow: ({ file, dataset, origin, columns, values }) => {
      const met = nobodyMet();
      for (const [index, column] of columns.entries()) {
        // The ids of requests are nobody's.
        if (dataset === 'erasure_requests' && column === 'id') continue;
        // A row in quarantine is one of the dataset that it could not enter.
        const name =
          dataset === 'quarantine' && column === 'payload'
            ? String(values[columns.indexOf('dataset')])
            : column;
        const place = `${file}:${file.endsWith('.parquet') ? '' : `${dataset}.`}${column}`;
        for (const leaf of leavesOf(name, dataset, values[index]))
          takeLeaf(leaf, place, origin === 'feed', met);
      }
      // What another person's row quotes in its free text is that person's, as any other text that both have.
      const hits =
        origin === 'rightful' ? met.hits.filter(({ subject }) => met.owners.has(subject)) : met.hits;
      for (const { subject, place } of hits) findings.addDecoded(subject, place);
      if (hits.length > 0 || met.isFenced) return;
      if (origin === 'rightful') shared.take(values);
      if (origin === 'feed') shared.takeFeed(values);
    },
    takeJson: (place, value, isFeed) => {
      const met = nobodyMet();
      for (const leaf of leavesOf('', '', value)) takeLeaf(leaf, place, isFeed, met);
      for (const { subject } of met.hits) findings.addDecoded(subject, place);
    },
  };
}

/** Who is met in a row: `owners` are identified where such identifiers stand, `hits` are all places of a text of theirs. */
type Met = { hits: { subject: number; place: string }[]; owners: Set<number>; isFenced: boolean };

function nobodyMet(): Met {
  return { hits: [], owners: new Set(), isFenced: false };
}

/** Remembers of whom it has been said that they are not fenced. */
function rememberFree(isFenced: IsFenced): IsFenced {
  if (!isFenced) return undefined;
  const free = new Set<string>();
  return (kind, value) => {
    const key = `${kind}\0${value}`;
    if (free.has(key)) return false;
    if (isFenced(kind, value)) return true;
    if (free.size === answersMax) free.clear();
    free.add(key);
    return false;
  };
}
