import { emailKey } from '../../contract/email.ts';
import { holdsDistinctId, type Sighting } from '../../contract/identity.ts';
import type { GivenIdentifier } from '../request/box.ts';

/** What the service says of a person that it was asked for by uuid or integer id. */
export type OwnerLook = Sighting | 'gone' | 'unknown';

/**
 * A person that the mirror has under an identifier, or that any row held shows with an e-mail address, and that the service
 * does not show under it.
 */
export type MirroredOwner = { uuid: string; given: GivenIdentifier; look: OwnerLook };

/**
 * The persons that an answer shows under an identifier. Null where the answer cannot be used: a row without the identifier
 * means that the service, or a proxy, has ignored the filter; and a row that cannot be read (null) may be any person's.
 */
export function readShown(given: GivenIdentifier, rows: readonly (Sighting | null)[]): Sighting[] | null {
  const shown: Sighting[] = [];
  for (const row of rows) {
    // Where the list of distinct ids is cut, the row counts only if it is the only one.
    if (row === null || !(holds(row, given) ?? rows.length === 1)) return null;
    shown.push(row);
  }
  return shown;
}

/**
 * Decides which persons of the mirror an identifier names, beside those that the service shows: `named`, by uuid. The mirror
 * may be old: the person that it has under an identifier may be merged into another, or have lost the identifier. A service that was
 * restored gives an integer id again: whom the mirror has under it is not named beside whom the service shows. An e-mail
 * address names every person that was ever seen with it. `living`: those of the named that the service does not say are
 * gone. `isDoubted`: it could not be decided for each of them.
 */
export function planStart(
  shown: readonly Sighting[],
  owners: readonly MirroredOwner[],
): { shown: Sighting[]; named: string[]; living: string[]; isDoubted: boolean } {
  const all = [...shown];
  const named: string[] = [];
  const living: string[] = [];
  let isDoubted = false;
  for (const { uuid, given, look } of owners) {
    const isHolder = typeof look === 'string' ? null : holds(look, given);
    const isEmail = given.kind === 'email';
    if (typeof look !== 'string' && (isHolder === true || isEmail)) all.push(look);
    else if (look === 'gone' && given.kind !== 'id') named.push(uuid);
    else if (isEmail) {
      named.push(uuid);
      living.push(uuid);
    } else if (isHolder === null) {
      // Where the service shows no person, only the mirror tells which person is named.
      if (shown.length === 0) named.push(uuid);
      else isDoubted = true;
    }
  }
  return { shown: all, named, living, isDoubted };
}

/** Whether a person has an identifier; null where the row cannot tell. */
function holds(person: Sighting, { kind, value }: GivenIdentifier): boolean | null {
  const { person_uuid: uuid, person_id: id, distinct_ids: distinctIds, email } = person;
  if (kind === 'uuid') return uuid === value.toLowerCase();
  if (kind === 'id') return id !== null && BigInt(id) === BigInt(value);
  if (kind === 'email') return email === emailKey(value);
  return kind === 'distinct_id' ? holdsDistinctId(distinctIds, value) : false;
}
