import { nobody } from '../contract/identity.ts';
import { finalStates, updateRequest } from '../mirror/erasure-requests.ts';
import { hasBox } from '../mirror/request-box.ts';
import { receiveAccess } from './access.ts';
import { receive, type Authority, type ReceiveContext } from './receive.ts';
import { closeBox, isSubject, newBox, type GivenIdentifier } from './request/box.ts';
import type { KeptKey } from './request/receipt.ts';
import { requireReferences } from './request/reference.ts';
import { together } from './request/together.ts';

/**
 * A request, for erasure or for access, whose sender can say it again: `attempts` are the id and the key that it has, and those that it has next where it was
 * cancelled. Who says something else under the same id has another key.
 */
export type OnceRequest = {
  isAccess: boolean;
  attempts: readonly KeptKey[];
  given: GivenIdentifier;
  authority: Authority;
};

/** What became of it. `other`: under this id, something else was asked for. */
export type ReceivedOnce = { key: KeptKey; isKnown: boolean } | 'other' | 'used_up';

/**
 * Receives a request once, however often it is said. The ledger alone says whether it was received before. Where its identifiers are
 * lost since, by a kill or with an older mirror, they are kept again, and where it was cancelled since, the next attempt is
 * received. Asks nobody and looks for nobody: known and unknown people are one.
 */
export function receiveOnce(context: ReceiveContext, request: OnceRequest): ReceivedOnce {
  const { isAccess, attempts, given, authority } = request;
  requireReferences(authority);
  return together(context, (own) => {
    for (const key of attempts) {
      const box = { ...newBox([given], nobody), subjectKey: key.subjectKey };
      const history = own.ledger().histories.of(key.request);
      if (!history) {
        if (isAccess) receiveAccess(own, box, authority, key.request);
        else receive(own, 'manual', box, authority, key.request);
        return { key, isKnown: false };
      }
      if (!isSubject(history.subject, box)) return 'other';
      if (history.state === 'cancelled') continue;
      const isLost = history.fence === null && !finalStates.includes(history.state) && !hasBox(own.db, key.request);
      if (isLost) {
        const { basis, by } = authority;
        updateRequest(own.db, key.request, { basis, authorisedBy: by, box: closeBox(own, key.request, box) });
      }
      return { key, isKnown: true };
    }
    return 'used_up';
  });
}
