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
export type DecodedRow = {
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
const answersMax = 200_000;

/** Prepares the search for identities in decoded values. */
export function createDecoder(
  identities: readonly Identity[],
  findings: Findings,
  shared: SharedText,
  isFenced: IsFenced,
): Decoder {
  const findSubjects = indexIdentities(identities);
  const findFence = rememberFree(isFenced);

  /** Whether a leaf identifies anybody who is looked for. */
  const takeLeaf = (leaf: Leaf, place: string, isFeed: boolean): boolean => {
    const mayStand = (kind: IdentifierKind): boolean => isFeed && feedKinds.includes(kind);
    const found = findSubjects(leaf);
    const exempt = new Set(found.filter(({ kind }) => mayStand(kind)).map(({ subject }) => subject));
    const subjects = new Set(found.map(({ subject }) => subject).filter((subject) => !exempt.has(subject)));
    for (const subject of subjects) findings.addDecoded(subject, place);
    const value = identifierValue(leaf.value);
    const fenced = findFence ? identifierKindsOf(leaf).filter((kind) => findFence(kind, value)) : [];
    const kept = fenced.some(mayStand) ? [] : fenced;
    for (const kind of kept) findings.addFenced(place, kind);
    return subjects.size + kept.length > 0;
  };
  const takeValue = (
    name: string,
    owner: string,
    value: unknown,
    place: string,
    isFeed: boolean,
  ): boolean => {
    let isTelling = false;
    for (const leaf of leavesOf(name, owner, value)) isTelling = takeLeaf(leaf, place, isFeed) || isTelling;
    return isTelling;
  };

  return {
    takeRow: ({ file, dataset, origin, columns, values }) => {
      let isTelling = false;
      for (const [index, column] of columns.entries()) {
        // The ids of requests are nobody's.
        if (dataset === 'erasure_requests' && column === 'id') continue;
        // A row in quarantine is one of the dataset that it could not enter.
        const name =
          dataset === 'quarantine' && column === 'payload'
            ? String(values[columns.indexOf('dataset')])
            : column;
        const place = `${file}:${file.endsWith('.parquet') ? '' : `${dataset}.`}${column}`;
        isTelling = takeValue(name, dataset, values[index], place, origin === 'feed') || isTelling;
      }
      if (isTelling) return;
      if (origin === 'rightful') shared.take(values);
      if (origin === 'feed') shared.takeFeed(values);
    },
    takeJson: (place, value, isFeed) => void takeValue('', '', value, place, isFeed),
  };
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
