import { findRequest } from '../../mirror/erasure-requests.ts';
import type { ErasureParts } from './request-record.ts';
import { readHistories } from '../proof/request-history.ts';

/**
 * Ends the requests that the ledger has received and the mirror does not know: a mirror from before they came was put
 * back, or a kill came between the two. Who they were about was in the mirror alone, so nobody can go on with them.
 * Returns the ids of those that somebody has to add again; a deletion at the service is seen again by itself. Those that
 * were fenced are not among them: the ledger has their fence.
 */
export function endLostRequests({ db, ledger }: Pick<ErasureParts, 'db' | 'ledger'>): string[] {
  const lost = [...readHistories(ledger.entries()).all()].filter(
    ({ request, state, fence }) =>
      fence === null &&
      (state === 'received' || state === 'scoped' || state === 'held') &&
      findRequest(db, request) === undefined,
  );
  ledger.append(lost.map(({ request, generation }) => ({ type: 'cancelled', request, generation })));
  return lost.flatMap(({ request, origin }) => (origin === 'upstream' ? [] : [request]));
}
