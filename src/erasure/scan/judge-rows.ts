import type { Identifier, IdentifierKind, Identity } from '../../contract/identity.ts';
import { identifiersOfUnread } from '../../mirror/quarantine.ts';
import type { Findings } from './findings.ts';
import { identifiersInPlace } from './identifiers-in-place.ts';
import {
  identifierKindsOf,
  identifierValue,
  indexIdentifiers,
  indexIdentities,
  type Leaf,
} from './identity-index.ts';
import { leavesOf } from './leaves.ts';
import type { OwnContent } from './known-formats.ts';
import { isOwnValue } from './own-rows.ts';
import type { SharedText } from './shared-text.ts';

/**
 * What a row is: one that rightly remains if it is about nobody who is looked for; one of a feed that tells of deletions;
 * one that could not be read, and is about whomever any of its texts names; one that this program has noted for itself, in
 * words of its own; or anything else, which vouches for nothing.
 */
export type RowOrigin = 'rightful' | 'feed' | 'unread' | 'own' | 'other';

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
  /** What a file in a format of this program's own can tell of anybody. */
  takeOwnFile(place: string, content: Omit<OwnContent, 'texts'>): void;
  /** Words of this program's own that stand in a file. */
  takeOwnWords(file: string, words: readonly string[]): void;
};

/** Whether an identifier is fenced; undefined where nobody asks. */
export type IsFenced = ((kind: IdentifierKind, value: string) => boolean) | undefined;

/** Kinds that feeds hold rightly, until their rows expire. */
const feedKinds: readonly IdentifierKind[] = ['person_uuid', 'recording_id'];
/** Their columns that hold those. */
const feedColumns: readonly string[] = ['key', 'person_uuid'];
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
  const subjectsOf = indexIdentifiers(identities);
  const findFence = rememberFree(isFenced);

  /** Notes whom a leaf identifies that vouches for nothing. Whether it does anybody. */
  const takeLeaf = (leaf: Leaf, place: string, isFeed: boolean): boolean => {
    const mayStand = (kind: IdentifierKind): boolean => isFeed && feedKinds.includes(kind);
    const found = findSubjects(leaf);
    const kinds = findFence ? identifierKindsOf(leaf) : [];
    // Nearly all leaves are nobody's: they must cost nothing more.
    if (found.length + kinds.length === 0) return false;
    const exempt = new Set(found.filter(({ kind }) => mayStand(kind)).map(({ subject }) => subject));
    const told = new Set(found.map(({ subject }) => subject).filter((subject) => !exempt.has(subject)));
    for (const subject of told) findings.addDecoded(subject, place);
    const value = identifierValue(leaf.value);
    const fenced = kinds.filter((kind) => findFence?.(kind, value));
    const kept = fenced.some(mayStand) ? [] : fenced;
    for (const kind of kept) findings.addFenced(place, kind);
    return told.size + kept.length > 0;
  };

  /** Notes that identifiers which stand in their place are fenced. Whether any is. */
  const takeFenced = (identifiers: readonly Identifier[], place: string): boolean => {
    const fenced = findFence ? identifiers.filter(({ kind, value }) => findFence(kind, value)) : [];
    for (const { kind } of fenced) findings.addFenced(place, kind);
    return fenced.length > 0;
  };

  /**
   * A row is of those whom it identifies where such identifiers stand. What it quotes of others in its free text is not
   * theirs, as any other text that both have.
   */
  const takeRightful = (row: DecodedRow): void => {
    const inPlace = row.columns.map((column, index) =>
      identifiersInPlace(row.dataset, column, row.values[index]),
    );
    const owners = inPlace.map((identifiers) => new Set(identifiers.flatMap(subjectsOf)));
    const areFenced = inPlace.map((identifiers, index) => takeFenced(identifiers, placeOf(row, index)));
    const all = new Set(owners.flatMap((some) => [...some]));
    if (all.size === 0) {
      if (!areFenced.includes(true)) shared.take(row.values);
      return;
    }
    for (const [index, column] of row.columns.entries()) {
      const place = placeOf(row, index);
      const found: number[] = [];
      for (const leaf of leavesOf(column, row.dataset, row.values[index]))
        for (const subject of new Set(findSubjects(leaf).map((one) => one.subject))) found.push(subject);
      const hits = found.filter((subject) => all.has(subject));
      const others = [...(owners[index] ?? [])].filter((subject) => !hits.includes(subject));
      for (const subject of [...hits, ...others]) findings.addDecoded(subject, place);
    }
  };

  /** A feed's row is of whom its key tells, by the dataset that it names. Any other key is another's text. */
  const takeFeedRow = (row: DecodedRow): void => {
    const told = row.values[row.columns.indexOf('dataset')];
    let [isFound, isSubjects] = [false, false];
    for (const [index, column] of row.columns.entries()) {
      const value = row.values[index];
      if (!feedColumns.includes(column) || typeof value !== 'string') continue;
      const identifiers = identifiersInPlace(row.dataset, column, value, told);
      isSubjects ||= identifiers.some((identifier) => subjectsOf(identifier).length > 0);
      // What cannot be a key of that dataset is searched as anything else.
      if (identifiers.length === 0 && told !== 'playlists')
        for (const leaf of leavesOf(column, row.dataset, value))
          isFound = takeLeaf(leaf, placeOf(row, index), true) || isFound;
    }
    if (isFound) return;
    if (isSubjects) shared.takeFeed(row.values);
    else shared.take(row.values);
  };

  /** A row in quarantine is of whomever it would be released for. Returns whether it could be told. */
  const takeUnread = (row: DecodedRow): boolean => {
    const [dataset, key, payload] = ['dataset', 'row_id', 'payload'].map((column) =>
      String(row.values[row.columns.indexOf(column)]),
    );
    let identifiers: Identifier[];
    try {
      identifiers = identifiersOfUnread(dataset ?? '', key ?? '', payload ?? '');
    } catch {
      return false;
    }
    const place = placeOf(row, row.columns.indexOf('payload'));
    const subjects = new Set(identifiers.flatMap(subjectsOf));
    for (const subject of subjects) findings.addDecoded(subject, place);
    const areFenced = takeFenced(identifiers, place);
    if (subjects.size === 0 && !areFenced) shared.take(row.values);
    return true;
  };

  /** Words of the program's own are passed over; all else in such a row is searched. */
  const takeOwn = (row: DecodedRow): void => {
    const isOwn = row.columns.map((column, index) => isOwnValue(row.dataset, column, row.values[index]));
    const keep = (whether: boolean): unknown[] =>
      row.values.map((value, index) => (isOwn[index] === whether ? value : undefined));
    shared.takeOwn(row.file, keep(true));
    takeOther({ ...row, values: keep(false) });
  };

  const takeOther = (row: DecodedRow): void => {
    for (const [index, column] of row.columns.entries())
      for (const leaf of leavesOf(column, row.dataset, row.values[index]))
        takeLeaf(leaf, placeOf(row, index), false);
  };

  return {
    takeRow: (row) => {
      if (row.origin === 'rightful') takeRightful(row);
      else if (row.origin === 'feed') takeFeedRow(row);
      else if (row.origin === 'own') takeOwn(row);
      else if (row.origin !== 'unread' || !takeUnread(row)) takeOther(row);
    },
    takeOwnWords: (file, words) => shared.takeOwn(file, [words]),
    takeOwnFile: (place, { identifiers, values }) => {
      for (const subject of identifiers.flatMap(subjectsOf)) findings.addDecoded(subject, place);
      takeFenced(identifiers, place);
      for (const value of values) takeLeaf({ name: '', owner: '', value }, place, false);
    },
    takeJson: (place, value, isFeed) => {
      for (const leaf of leavesOf('', '', value)) takeLeaf(leaf, place, isFeed);
    },
  };
}

/** What the report calls a column. */
function placeOf({ file, dataset, columns }: DecodedRow, index: number): string {
  return `${file}:${file.endsWith('.parquet') ? '' : `${dataset}.`}${columns[index]}`;
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
