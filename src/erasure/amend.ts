import { AppError, usageError } from '../core/errors.ts';
import type { JobContext } from '../job/job-context.ts';
import type { Decision } from '../ledger/record.ts';
import { stateText } from '../ledger/vocabulary-words.ts';
import { basisCode } from '../ledger/vocabulary.ts';
import { type ErasureRequest, updateRequest } from '../mirror/erasure-requests.ts';
import { markPurgeOwed, purgeOwed } from '../mirror/purge.ts';
import { requireRequest } from './receive.ts';
import { authorisationMac, boxDetailsOf } from './request/box.ts';
import { requireReferences } from './request/reference.ts';
import { record, together } from './request/together.ts';

/**
 * Replaces the reference of a request (the role or ticket that asks for it), or its basis, in the mirror and as an HMAC and a code on the
 * ledger, or states how it was decided, on the ledger.
 * The old words are purged from the mirror's file. Throws `usage` where the words are no references, where the request is
 * at its end and keeps no words, and `storage` where a reader keeps the old words in the file.
 */
export async function amendRequest(
  context: JobContext,
  idOrPrefix: string,
  change: { by?: string | undefined; basis?: string | undefined; decision?: Decision },
): Promise<ErasureRequest> {
  requireReferences(change);
  const { db, settings, clock, signal } = context;
  const { by, basis, decision } = change;
  const request = requireRequest(db, idOrPrefix);
  const box = request.certifiedAt === null ? boxDetailsOf({ db, settings }, request.id) : undefined;
  if (!box)
    throw usageError(
      `request ${request.id} (${stateText(request.state)}): its words are destroyed or stand in a certificate`,
      'only an open request can be amended; `erase list` shows the open ones',
    );
  const { id, generation } = request;
  const authorisation = by === undefined ? {} : { authorisation: authorisationMac(box, by) };
  together(context, (own) => {
    record(own, {
      type: 'amended',
      request: id,
      generation,
      basis: basisCode(basis ?? request.basis),
      ...authorisation,
      ...decision,
    });
    updateRequest(db, id, {
      ...(by === undefined ? {} : { authorisedBy: by }),
      ...(basis === undefined ? {} : { basis }),
    });
    markPurgeOwed(db);
  });
  if (!(await purgeOwed(db, clock, signal)))
    throw new AppError(
      'the request is amended, but another process reads mirror.db, so its file still holds the old words',
      { code: 'storage', hint: 'end that process; the next `reconcile` purges the file' },
    );
  return requireRequest(db, id);
}
