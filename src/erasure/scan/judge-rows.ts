import { findDataset } from '../../contract/datasets.ts';
import type { Identifier, IdentifierKind } from '../../contract/identity.ts';
import { isJsonObject, readJson, textLeaves } from '../../core/exact-json.ts';
import { identifiersOfUnread } from '../../mirror/quarantine.ts';
import type { Findings, ScanSubject } from './scan-task.ts';
import {
  identifiersInPlace,
  identifierKindsOf,
  indexIdentities,
  leavesOf,
  spellingsOf,
  type IdentityIndex,
  type Leaf,
} from './identity-index.ts';
import { isKnownValue, type RowOrigin } from './mirror-tables.ts';
import type { SharedText } from './shared-text.ts';

/** A decoded row of a table or a dataset. */
type DecodedRow = {
  file: string;
  dataset: string;
  origin: RowOrigin;
  columns: readonly string[];
  values: readonly unknown[];
};

/** Finds subjects in decoded values, and learns from the rows of other persons which text is shared. */
export type RowJudge = {
  takeRow(row: DecodedRow): void;
  /** A value of a JSON file, or values of a file of a known format. `isFeed`: the file belongs to a feed of deletions. */
  takeJson(place: string, value: unknown, isFeed?: boolean): void;
  /** Fixed words of this program that stand in a file. They are never matches there. */
  takeFixedWords(file: string, words: readonly string[]): void;
};

/** The requests that have fenced an identifier; undefined when the fence is not asked. */
type FencedBy = ((kind: IdentifierKind, value: string) => readonly string[]) | undefined;

/** A person's properties in the mirror, by uuid: a published file may leave some out. */
type PropertiesOf = (uuid: string) => string | undefined;

/** What a judgement is made with. Subjects are numbers: their places in the task. */
type Judging = IdentityIndex & {
  findings: Findings;
  shared: SharedText;
  fencedBy: FencedBy;
  propertiesOf: PropertiesOf;
};

/** Kinds of identifiers that a feed of deletions may hold until its rows expire. */
const feedKinds: readonly IdentifierKind[] = ['person_uuid', 'recording_id'];
/** The columns of a feed that hold them. */
const feedColumns: readonly string[] = ['key', 'person_uuid'];

/** Prepares the search for identities in decoded values. */
export function createRowJudge(
  subjects: readonly ScanSubject[],
  findings: Findings,
  shared: SharedText,
  fencedBy: FencedBy,
  propertiesOf: PropertiesOf = () => undefined,
): RowJudge {
  const index = indexIdentities(subjects.map(({ identity }) => identity));
  const judging: Judging = { ...index, findings, shared, fencedBy, propertiesOf };
  return {
    takeRow: (row) => judges[row.origin](judging, row),
    takeFixedWords: (file, words) => shared.takeFixedWords(file, [words]),
    takeJson: (place, value, isFeed = false) => {
      for (const leaf of leavesOf('', '', value)) reportLeaf(judging, leaf, place, isFeed);
    },
  };
}

/** How the rows of each origin are judged. */
const judges: Readonly<Record<RowOrigin, (judging: Judging, row: DecodedRow) => void>> = {
  rightful: judgeRightfulRow,
  feed: judgeFeedRow,
  unread: judgeUnreadRow,
  own: judgeOwnRow,
  other: judgeOtherRow,
};

/**
 * A rightful row belongs to the persons that its identifying columns name. If one of them is a subject, the row should be
 * gone, and each of its columns that holds that subject is reported. Otherwise its text is shared: a match elsewhere proves
 * nothing, and a match inside its free text is left to the person of the row. But a name that is an identifier of a subject is
 * reported: services show a person by a distinct id that it has no more.
 */
function judgeRightfulRow(judging: Judging, row: DecodedRow): void {
  const { findings, shared, findSubjects, subjectsOf } = judging;
  const inPlace = withoutIdsAlone(
    judging,
    row.columns.map((column, index) => identifiersInPlace(row.dataset, column, row.values[index])),
  );
  const owners = inPlace.map((identifiers) => new Set(identifiers.flatMap(subjectsOf)));
  const areFenced = inPlace.map((identifiers, index) => reportFenced(judging, identifiers, placeOf(row, index)));
  const all = new Set(owners.flatMap((some) => [...some]));
  if (all.size === 0) {
    reportName(judging, row, inPlace.flat());
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
}

/**
 * Reports the subjects that a row of another person names by one of their identifiers. The person's own identifiers are no such
 * name, nor is a text that somebody has put into the person's properties, as the row or the mirror has them. A short name counts for
 * nobody: it can be any word.
 */
function reportName(judging: Judging, row: DecodedRow, own: readonly Identifier[]): void {
  const field = findDataset(row.dataset)?.embeddedPerson ?? null;
  if (field === null && row.dataset !== 'persons') return;
  const index = row.columns.indexOf(field ?? 'name');
  const person = field === null ? undefined : readJson(String(row.values[index]));
  const name = field === null ? row.values[index] : isJsonObject(person) ? person['name'] : undefined;
  if (typeof name !== 'string') return;
  const spellings = spellingsOf(name);
  if (own.some(({ value }) => spellings.includes(value))) return;
  const found = judging.findSubjects({ name: 'name', owner: row.dataset, value: name });
  if (found.length === 0) return;
  const shown = isJsonObject(person)
    ? person['properties']
    : readJson(String(row.values[row.columns.indexOf('properties')]));
  const mirrored = own.map(({ kind, value }) => (kind === 'person_uuid' ? judging.propertiesOf(value) : undefined));
  const properties = [shown, ...mirrored.map((text) => (text === undefined ? null : readJson(text)))];
  if (textLeaves(properties).some((text) => text === name)) return;
  for (const { subject } of found) judging.findings.addDecoded(subject, placeOf(row, index));
}

/** An integer id alone names nobody where the row shows a uuid: a service may use it again, for another person. */
function withoutIdsAlone({ subjectsOf, fencedBy }: Judging, inPlace: readonly Identifier[][]): readonly Identifier[][] {
  const all = inPlace.flat();
  const isSought = ({ kind, value }: Identifier): boolean =>
    subjectsOf({ kind, value }).length + (fencedBy?.(kind, value) ?? []).length > 0;
  if (all.every(({ kind }) => kind !== 'person_uuid')) return inPlace;
  const ids = all.filter(({ kind }) => kind === 'person_id');
  if (!ids.some(isSought) || all.some((each) => each.kind !== 'person_id' && isSought(each))) return inPlace;
  return inPlace.map((identifiers) => identifiers.filter(({ kind }) => kind !== 'person_id'));
}

/** A row of a feed of deletions may name a subject by its key alone. Any other value is searched as usual. */
function judgeFeedRow(judging: Judging, row: DecodedRow): void {
  const { shared, subjectsOf } = judging;
  const deletedFrom = row.values[row.columns.indexOf('dataset')];
  let [isFound, isSubjects] = [false, false];
  for (const [index, column] of row.columns.entries()) {
    const value = row.values[index];
    if (!feedColumns.includes(column) || typeof value !== 'string') continue;
    const identifiers = identifiersInPlace(row.dataset, column, value, deletedFrom);
    isSubjects ||= identifiers.some((identifier) => subjectsOf(identifier).length > 0);
    if (identifiers.length === 0 && deletedFrom !== 'playlists')
      for (const leaf of leavesOf(column, row.dataset, value))
        isFound = reportLeaf(judging, leaf, placeOf(row, index), true) || isFound;
  }
  if (isFound) return;
  if (isSubjects) shared.takeFeed(row.values);
  else shared.take(row.values);
}

/** A row in quarantine belongs to the persons that it would be released for. If they cannot be read, all of it is searched. */
function judgeUnreadRow(judging: Judging, row: DecodedRow): void {
  const { findings, shared, subjectsOf } = judging;
  const [dataset, key, payload] = ['dataset', 'row_id', 'payload'].map((column) =>
    String(row.values[row.columns.indexOf(column)]),
  );
  let identifiers: Identifier[];
  try {
    identifiers = identifiersOfUnread(dataset ?? '', key ?? '', payload ?? '');
  } catch {
    judgeOtherRow(judging, row);
    return;
  }
  const place = placeOf(row, row.columns.indexOf('payload'));
  const subjects = new Set(identifiers.flatMap(subjectsOf));
  for (const subject of subjects) findings.addDecoded(subject, place);
  const areFenced = reportFenced(judging, identifiers, place);
  if (subjects.size === 0 && !areFenced) shared.take(row.values);
}

/** In a row that this program has noted for itself, fixed words are never matches. All else in it is searched. */
function judgeOwnRow(judging: Judging, row: DecodedRow): void {
  const isKnown = row.columns.map((column, index) => isKnownValue(row.dataset, column, row.values[index]));
  const keep = (whether: boolean): unknown[] =>
    row.values.map((value, index) => (isKnown[index] === whether ? value : undefined));
  judging.shared.takeFixedWords(row.file, keep(true));
  judgeOtherRow(judging, { ...row, values: keep(false) });
}

/** In any other row, every value that identifies a subject is reported. */
function judgeOtherRow(judging: Judging, row: DecodedRow): void {
  for (const [index, column] of row.columns.entries())
    for (const leaf of leavesOf(column, row.dataset, row.values[index]))
      reportLeaf(judging, leaf, placeOf(row, index), false);
}

/** Reports the subjects and the fenced identifiers that a value is. Returns whether there was one. */
function reportLeaf(
  { findings, findSubjects, fencedBy }: Judging,
  leaf: Leaf,
  place: string,
  isFeed: boolean,
): boolean {
  const found = findSubjects(leaf);
  const kinds = fencedBy ? identifierKindsOf(leaf) : [];
  // Nearly all values identify nobody: they must cost nothing more.
  if (found.length + kinds.length === 0) return false;
  const mayStand = (kind: IdentifierKind): boolean => isFeed && feedKinds.includes(kind);
  const exempt = new Set(found.filter(({ kind }) => mayStand(kind)).map(({ subject }) => subject));
  const reported = new Set(found.map(({ subject }) => subject).filter((subject) => !exempt.has(subject)));
  for (const subject of reported) findings.addDecoded(subject, place);
  const fenced = kinds.flatMap((kind) => {
    const requests = spellingsOf(leaf.value).flatMap((value) => fencedBy?.(kind, value) ?? []);
    return requests.length > 0 ? [{ kind, requests }] : [];
  });
  const kept = fenced.some(({ kind }) => mayStand(kind)) ? [] : fenced;
  for (const { kind, requests } of kept) findings.addFenced(place, kind, requests);
  return reported.size + kept.length > 0;
}

/** Reports those of a row's identifiers that are fenced. Returns whether there was one. */
function reportFenced({ findings, fencedBy }: Judging, identifiers: readonly Identifier[], place: string): boolean {
  let isFound = false;
  for (const { kind, value } of identifiers) {
    const requests = fencedBy?.(kind, value) ?? [];
    if (requests.length > 0) findings.addFenced(place, kind, requests);
    isFound ||= requests.length > 0;
  }
  return isFound;
}

/** A column, as the report names it. */
function placeOf({ file, dataset, columns }: DecodedRow, index: number): string {
  return `${file}:${file.endsWith('.parquet') ? '' : `${dataset}.`}${columns[index]}`;
}
