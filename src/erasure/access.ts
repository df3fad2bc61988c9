import { usageError } from '../core/errors.ts';
import { findRequest, updateRequest, type ErasureRequest } from '../mirror/erasure-requests.ts';
import { dueAt, type Authority, type ReceiveContext } from './receive.ts';
import {
  authorisationMac,
  boxDetailsOf,
  closeBox,
  subjectMac,
  type Box,
  type BoxContext,
  type GivenIdentifier,
} from './request/box.ts';
import { record, together } from './request/together.ts';

// Requests for access: who asks what is held about them. They are on the ledger with their clock, and an operator answers them. Their
// identifiers are kept, encrypted, until then. Nothing is erased, so no reconciliation sees them.

/** Receives a request for access by the subject of a box. */
export function receiveAccess(context: ReceiveContext, box: Box, authority: Authority, id: string): void {
  const { by, decision } = authority;
  const identity = decision?.identity;
  together(context, (own) => {
    record(own, {
      type: 'asked',
      request: id,
      generation: 1,
      subject: subjectMac(box),
      authorisation: authorisationMac(box, by),
      due_at: dueAt(own),
      ...(identity === undefined ? {} : { identity }),
    });
    updateRequest(own.db, id, { authorisedBy: by, box: closeBox(own, id, box) });
  });
}

/**
 * Ends a request for access: it was answered, or is cancelled. Its identifiers are destroyed. Throws `usage` for one that has
 * ended, and for a request for erasure.
 */
export function endAccess(context: ReceiveContext, idOrPrefix: string, end: 'answered' | 'cancelled'): ErasureRequest {
  const { id, generation, state } = requireAccess(context, idOrPrefix);
  if (state !== 'received')
    throw usageError(`request ${id} has ended`, '`access list` shows the requests for access that are open');
  record(context, { type: end, request: id, generation });
  return requireAccess(context, id);
}

/** How a request for access names its person. Throws `usage` where that is not known: it has ended, or an older mirror is in place. */
export function namedForAccess(context: BoxContext, idOrPrefix: string): GivenIdentifier[] {
  const { id } = requireAccess(context, idOrPrefix);
  const box = boxDetailsOf(context, id);
  if (box) return box.given;
  throw usageError(
    `the identifiers of request ${id} are not here`,
    'they are destroyed once it ends, and lost with an older mirror.db: then its sender can send it again',
  );
}

function requireAccess({ db }: Pick<BoxContext, 'db'>, idOrPrefix: string): ErasureRequest {
  const request = findRequest(db, idOrPrefix);
  if (request?.isAccess) return request;
  throw usageError(
    'there is no request for access of that id, or several begin so',
    '`access list --all` shows the requests for access with their ids',
  );
}
