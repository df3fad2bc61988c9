import type { Sighting } from '../../contract/identity.ts';
import type { GivenIdentifier } from '../request/box.ts';

/** A person as one row of an answer shows them. */
export type ShownPerson = { sighting: Sighting; email: string | null };

/** What the service says of somebody whom it was asked for by uuid or integer id. */
export type OwnerLook = ShownPerson | 'gone' | 'unknown';

/** Somebody whom the mirror has under an identifier, other than those whom the service shows under it. */
export type MirroredOwner = { uuid: string; given: GivenIdentifier; look: OwnerLook };

// Live services show no more distinct ids of a person in a list.
const listedDistinctIdsMax = 1000;

/**
 * Whom an answer shows under an identifier. A row of somebody who does not have it says that the service, or a proxy,
 * does not do as it is asked; and a row that cannot be read (null) may be anybody's. Then the answer says nothing: null.
 */
export function readShown(given: GivenIdentifier, rows: readonly (ShownPerson | null)[]): Sighting[] | null {
  const shown: Sighting[] = [];
  for (const row of rows) {
    // Where the list of distinct ids is cut, that it is the only row tells whose it is.
    if (row === null || !(holds(row, given) ?? rows.length === 1)) return null;
    shown.push(row.sighting);
  }
  return shown;
}

/**
 * Decides who is meant beside those whom the service shows: `meant`, by uuid. The mirror may be old: whom it has under an
 * identifier was merged into them, or is somebody else by now. `isDoubted`: that could not be told of everybody.
 */
export function planStart(
  shown: readonly Sighting[],
  owners: readonly MirroredOwner[],
): { shown: Sighting[]; meant: string[]; isDoubted: boolean } {
  const all = [...shown];
  const meant: string[] = [];
  let isDoubted = false;
  for (const { uuid, given, look } of owners) {
    const isHolder = typeof look === 'string' ? null : holds(look, given);
    if (typeof look !== 'string' && isHolder === true) all.push(look.sighting);
    else if (look === 'gone') meant.push(uuid);
    else if (isHolder === null) {
      // Where the service shows nobody, nobody but the mirror tells who is meant.
      if (shown.length === 0) meant.push(uuid);
      else isDoubted = true;
    }
  }
  return { shown: all, meant, isDoubted };
}

/** Whether a person has an identifier; null where the row cannot tell. */
function holds({ sighting, email }: ShownPerson, { kind, value }: GivenIdentifier): boolean | null {
  const { person_uuid: uuid, person_id: id, distinct_ids: distinctIds } = sighting;
  if (kind === 'uuid') return uuid === value.toLowerCase();
  if (kind === 'id') return id !== null && BigInt(id) === BigInt(value);
  if (kind === 'email') return email !== null && plain(email) === plain(value);
  if (kind === 'distinct_id' && distinctIds.includes(value)) return true;
  return distinctIds.length < listedDistinctIdsMax ? false : null;
}

function plain(email: string): string {
  return email.trim().toLowerCase();
}
