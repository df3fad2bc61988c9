import { askableDistinctIds } from '../contract/identity.ts';
import { batchDistinctIdsMax } from '../contract/optional-endpoints.ts';
import { rowReaders } from '../contract/row-readers.ts';
import { textListOf, type Columns } from '../contract/tolerant-reader.ts';
import type { PersonBatches } from '../client/person-batches.ts';
import type { Suspect } from '../mirror/suspects.ts';
import { mayBeSurvivor, type Answer } from './ask-for-row.ts';

/**
 * So many distinct ids of a person are asked for in batches. A merge moves all of them, so that any one tells. Only a split
 * parts them, and then somebody holds one of these: a person with such an id is asked for by itself, with more of its ids.
 */
const distinctIdsEach = 3;

/**
 * Asks for many absent persons at once. The result has no answer for a suspect of whom nothing is certain: the caller asks for each of these by itself.
 * Their distinct ids are asked for only where this answer decides (`isDeciding`): before, a merged person is as gone as a deleted.
 */
export async function askTogether(
  batches: PersonBatches,
  suspects: readonly Suspect[],
  isDeciding: (suspect: Suspect) => boolean,
): Promise<Map<Suspect, Answer>> {
  const shown = await batches.byUuids(suspects.map(({ key }) => key));
  const decided = suspects.filter((suspect) => shown.get(suspect.key) === null && isDeciding(suspect));
  const holders = await batches.byDistinctIds(decided.flatMap(askedIds));
  const answers = new Map<Suspect, Answer>();
  for (const suspect of suspects) {
    const row = shown.get(suspect.key);
    if (row === undefined) continue;
    const answer = row === null ? answerOfAbsent(suspect, isDeciding(suspect) ? holders : null) : answerOfShown(row);
    if (answer) answers.set(suspect, answer);
  }
  return answers;
}

function askedIds({ distinctIds }: Suspect): string[] {
  return askableDistinctIds(distinctIds, distinctIdsEach);
}

function answerOfShown(row: unknown): Answer | undefined {
  const columns = wholeRow(row);
  return columns && { verdict: 'alive', row: columns };
}

/** `holders`: who has its distinct ids; null where nobody was asked for them. */
function answerOfAbsent(suspect: Suspect, holders: ReadonlyMap<string, unknown> | null): Answer | undefined {
  const rows = holders === null ? [] : askedIds(suspect).map((distinctId) => holders.get(distinctId));
  if (rows.every((row) => row === null)) return { verdict: 'gone' };
  const survivor = wholeRow(rows.find((row) => row !== null));
  const isSurvivor =
    survivor && survivor['uuid'] !== suspect.key && mayBeSurvivor(survivor['created_at'], suspect.createdAt);
  return isSurvivor ? { verdict: 'merged', survivor } : undefined;
}

/** A person's row, where it has all its distinct ids: one that shows as many as a batch does at most may have more. */
function wholeRow(row: unknown): Columns | undefined {
  const read = rowReaders.persons(row);
  if (!read.ok) return undefined;
  const held = textListOf(read.columns['distinct_ids']) ?? [];
  return held.length < batchDistinctIdsMax ? read.columns : undefined;
}
