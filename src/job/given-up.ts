import type { Histories } from '../ledger/histories.ts';
import type { Database } from '../mirror/database.ts';
import { listRequests } from '../mirror/erasure-requests.ts';

/**
 * The requests, by id, that are open in the mirror and given up on the ledger: a run that was killed has done it, and told nobody.
 * Those of persons whom the service deleted by itself are left out: nobody asked for them.
 */
export function givenUpUntold(db: Database, { histories }: { histories: Pick<Histories, 'of'> }): string[] {
  const isGivenUp = (id: string): boolean => {
    const history = histories.of(id);
    return history?.state === 'cancelled' || (history?.state === 'sealed' && history.reason === 'life_exceeded');
  };
  return listRequests(db, 'open').flatMap(({ id, origin }) => (origin !== 'upstream' && isGivenUp(id) ? [id] : []));
}
