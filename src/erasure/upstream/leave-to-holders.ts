import { updateRequest } from '../../mirror/erasure-requests.ts';
import { noteHolders } from '../../mirror/request-box.ts';
import { boxOf, closeBox, holdersOf, type BoxContext } from '../request/box.ts';
import { note, type RequestRef } from '../request/target-journal.ts';
import { openTarget } from './context.ts';
import { transact } from '../../mirror/transact.ts';

const target = 'upstream.person';

/**
 * Leaves the distinct ids of a request's person that other persons have at the service to those that were shown, and to nobody
 * else: an operator has decided that they are other people. The person's deletion goes on.
 */
export function leaveToHolders(context: Parameters<typeof note>[0] & BoxContext, request: RequestRef): void {
  const { db } = context;
  const box = boxOf(context, request.id);
  if (!box) throw new Error('an open request without its box');
  const isSent = (openTarget(context, request, target)?.attempts ?? 0) > 0;
  const sharedWith = [...new Set([...(box.sharedWith ?? []), ...holdersOf(context, request.id).keys()])];
  transact(db, () => {
    noteHolders(db, request.id, []);
    note(context, request, target, { status: isSent ? 'waiting' : 'pending', reason: null, notBefore: null });
    updateRequest(db, request.id, { box: closeBox(context, request.id, { ...box, sharedWith }) });
  });
}
