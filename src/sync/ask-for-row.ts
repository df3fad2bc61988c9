import { AppError } from '../core/errors.ts';
import { isoToMicros } from '../core/time.ts';
import { askableDistinctIds, hasRoute, holdsDistinctId } from '../contract/identity.ts';
import { textListOf, type Columns, type ColumnValue, type RowReader } from '../contract/tolerant-reader.ts';
import { askForDistinctId, type PersonBatches } from '../client/person-batches.ts';
import { bodyOrMissing, readMissing, type Service } from '../client/service.ts';
import { rowReaders } from '../contract/row-readers.ts';
import type { PagedDataset } from '../contract/datasets.ts';
import type { Suspect } from '../mirror/suspects.ts';
import { personParams } from '../contract/endpoints.ts';
import { batchDistinctIdsMax } from '../contract/optional-endpoints.ts';

/** The service's answer about an unseen row. `row`: itself where it is alive; where it was merged, the person who has its distinct ids. */
export type Answer = { verdict: 'alive' | 'merged'; row: Columns } | { verdict: 'gone' | 'unknown' };

/** A row that is asked for: its key, and what else the service may know it by. `id`: digits, where the service showed one. */
export type Sought = Pick<Suspect, 'key' | 'id' | 'createdAt'> & { distinctIds: readonly string[] };

/** So many distinct ids of a person are asked for: a merge moves them all, so that a few tell as much as thousands. */
const distinctIdsMax = 20;

/** Whether a person's path takes the uuid, too. As documented it does not: then the first answer 400 tells. */
export type PersonPaths = { takeUuids: boolean };

/**
 * Asks for one row. It is gone after a 404 by each of its ids, or where another person has its id now, if no distinct id leads to
 * it. Unknown where no route takes its id: such a row can only be listed. Other refusals are thrown, and so is an answer that is not
 * about what was asked for.
 */
export async function askForRow(
  service: Service,
  dataset: PagedDataset,
  suspect: Sought,
  signal: AbortSignal,
  paths: PersonPaths = { takeUuids: true },
): Promise<Answer> {
  try {
    if (dataset === 'persons') return await askForPerson(service, suspect, signal, paths);
    return await askForRecording(service, suspect, signal);
  } catch (error) {
    if (error instanceof AppError && error.code === 'usage') return { verdict: 'unknown' };
    throw error;
  }
}

async function askForPerson(
  service: Service,
  { key, id, distinctIds, createdAt }: Sought,
  signal: AbortSignal,
  paths: PersonPaths,
): Promise<Answer> {
  // A live list shows no integer, and a person who was created again has another one: the uuid tells of both.
  for (const ref of id === null ? [key] : [id, key]) {
    if (ref === key && !paths.takeUuids) continue;
    const asked = service.call('persons.retrieve', { params: personParams(ref), priority: 'deletion', signal });
    const found = await bodyOrMissing(asked).catch((error: unknown) => {
      if (id === null || ref === id || !(error instanceof AppError) || error.status !== 400) throw error;
      paths.takeUuids = false;
    });
    if (found === undefined) continue;
    const read = rowReaders.persons(found);
    // A service that was restored gives an integer id to a second person: the first person has lost it.
    const isGivenAgain = ref === id && read.ok && read.columns['uuid'] !== key && String(read.columns['id']) === id;
    if (!isGivenAgain) return answerOf(read, 'uuid', key);
  }
  for (const distinctId of askableDistinctIds(distinctIds, distinctIdsMax)) {
    const results = await askForDistinctId(service, distinctId, signal);
    for (const result of results) {
      const person = rowReaders.persons(result);
      if (!person.ok) throw otherAnswer();
      const row = person.columns;
      if (row['uuid'] === key) return { verdict: 'alive', row };
      // Where its list of distinct ids may be cut, a person counts only if it is the only one.
      const isHolder = holdsDistinctId(textListOf(row['distinct_ids']) ?? [], distinctId) ?? results.length === 1;
      if (!isHolder) throw otherAnswer();
      if (mayBeSurvivor(row['created_at'], createdAt)) return { verdict: 'merged', row };
    }
  }
  return { verdict: 'gone' };
}

function otherAnswer(): AppError {
  return new AppError('the service was asked for one row, and answers with something else', {
    code: 'service',
    hint: 'a proxy may drop the query from the address, or turn a 404 into another answer; check service.baseUrl and service.pathPrefix',
  });
}

async function askForRecording(service: Service, { key }: Sought, signal: AbortSignal): Promise<Answer> {
  try {
    const { body } = await service.call('recordings.retrieve', { params: { id: key }, priority: 'deletion', signal });
    return answerOf(rowReaders.recordings(body), 'id', key);
  } catch (error) {
    const verdict = readMissing(error, key);
    if (verdict === undefined || (verdict === 'unknown' && hasRoute(key))) throw error;
    return { verdict };
  }
}

/** Throws for another row under the same identifier, and for one that cannot be read: it says nothing of the one asked for. */
function answerOf(read: ReturnType<RowReader>, keyColumn: string, key: string): Answer {
  if (!read.ok || read.columns[keyColumn] !== key) throw otherAnswer();
  return { verdict: 'alive', row: read.columns };
}

/** Whether a person may be a survivor: it takes the older creation time of both. One created later only took the distinct id over. */
function mayBeSurvivor(createdAt: ColumnValue | undefined, loserCreatedAt: string | null): boolean {
  const time = isoToMicros(String(createdAt));
  const loserTime = isoToMicros(String(loserCreatedAt));
  return time === undefined || loserTime === undefined || time <= loserTime;
}

/**
 * So many distinct ids of a person are asked for in batches. A merge moves all of them, so that any one tells. Only a split
 * parts them, and then somebody holds one of these: a person with such an id is asked for by itself, with more of its ids.
 */
const distinctIdsEach = 3;

/**
 * Asks for many absent persons at once. The result has no answer for a suspect that the service did not tell of with certainty.
 * The caller asks for each of these by itself.
 * Their distinct ids are asked for only where this answer decides (`isDeciding`): before, a merged person is as gone as a deleted.
 */
export async function askTogether<Row extends Sought>(
  batches: PersonBatches,
  suspects: readonly Row[],
  isDeciding: (suspect: Row) => boolean,
): Promise<Map<Row, Answer>> {
  const shown = await batches.byUuids(suspects.map(({ key }) => key));
  const decided = suspects.filter((suspect) => shown.get(suspect.key) === null && isDeciding(suspect));
  const holders = await batches.byDistinctIds(decided.flatMap(askedIds));
  const answers = new Map<Row, Answer>();
  for (const suspect of suspects) {
    const row = shown.get(suspect.key);
    if (row === undefined) continue;
    const answer = row === null ? answerOfAbsent(suspect, isDeciding(suspect) ? holders : null) : answerOfShown(row);
    if (answer) answers.set(suspect, answer);
  }
  return answers;
}

function askedIds({ distinctIds }: Sought): string[] {
  return askableDistinctIds(distinctIds, distinctIdsEach);
}

function answerOfShown(row: unknown): Answer | undefined {
  const columns = wholeRow(row);
  return columns && { verdict: 'alive', row: columns };
}

/** `holders`: who has its distinct ids; null where nobody was asked for them. */
function answerOfAbsent(suspect: Sought, holders: ReadonlyMap<string, unknown> | null): Answer | undefined {
  const rows = holders === null ? [] : askedIds(suspect).map((distinctId) => holders.get(distinctId));
  if (rows.every((row) => row === null)) return { verdict: 'gone' };
  const survivor = wholeRow(rows.find((row) => row !== null));
  const isSurvivor =
    survivor && survivor['uuid'] !== suspect.key && mayBeSurvivor(survivor['created_at'], suspect.createdAt);
  return isSurvivor ? { verdict: 'merged', row: survivor } : undefined;
}

/** A person's row, where it has all its distinct ids: one that shows as many as a batch does at most may have more. */
function wholeRow(row: unknown): Columns | undefined {
  const read = rowReaders.persons(row);
  if (!read.ok) return undefined;
  const held = textListOf(read.columns['distinct_ids']) ?? [];
  return held.length < batchDistinctIdsMax ? read.columns : undefined;
}
