import { identifiersIn } from '../contract/identity.ts';
import { usageError } from '../core/errors.ts';
import { reasonMac } from '../core/secret-key.ts';
import { stateText } from '../ledger/vocabulary-words.ts';
import { listRequests, type ErasureRequest } from '../mirror/erasure-requests.ts';
import { boxKeyName, fencedBy, fencedTogether, readFenceUse } from '../mirror/fence.ts';
import { identifiersOf } from './find/closure.ts';
import { isListedAgain, requireRequest, settleListedAgain, type ReceiveContext } from './receive.ts';
import { boxOf } from './request/box.ts';
import { record } from './request/together.ts';

/** The requests whose fence was lifted, and the requests of others that fence a distinct id of the person too. */
type Readmitted = { requests: ErasureRequest[]; fencedByOthers: string[] };

/**
 * Lifts the fences of finished requests, so that the person can be mirrored again. One person can have several requests: all of
 * them have to be named, since each one left would keep the person out, and delete the person at the service if it is listed
 * again. Throws `usage`, and has changed nothing, where one is not named, has not ended, or is about to erase the person. Call
 * it in a step (`together`).
 */
export function readmit(context: ReceiveContext, idsOrPrefixes: readonly string[], reason: string): Readmitted {
  const { db } = context;
  const named = new Map(idsOrPrefixes.map((each) => requireRequest(db, each)).map((request) => [request.id, request]));
  const requests = [...named.values()];
  for (const request of requests) {
    const { id, state } = request;
    if (request.certifiedAt === null && request.sealedAt === null && !isListedAgain(db, request))
      throw usageError(
        `request ${id} (${stateText(state)}): only those that are complete or sealed can be readmitted`,
        ['cancelled', 'refused'].includes(state) ? 'it fences nobody' : 'let `reconcile` finish it first',
      );
  }
  const { all, others } = requestsAbout(context, named.keys());
  if (all.length > requests.length)
    throw usageError(
      `${all.length} requests have erased this person: ${all.join(' ')}`,
      `name all of them, or the others keep the person out: analytics-mirror erase readmit ${all.join(' ')} --reason …`,
    );
  const waiting = waitingFor(context, all);
  if (waiting !== undefined)
    throw usageError(
      `request ${waiting} is open, and about to erase this person`,
      `cancel it first: analytics-mirror erase cancel ${waiting}`,
    );
  for (const request of requests) liftOf(context, request, reason);
  return { requests, fencedByOthers: others };
}

/** Lifts the fence of a request, and ends what it waits for where its person is listed again. The ledger has an HMAC of the reason. */
export function liftOf(context: ReceiveContext, request: ErasureRequest, reason: string): void {
  const { db, settings } = context;
  const { id, generation } = request;
  const isListed = isListedAgain(db, request);
  const mac = reasonMac(settings.dataDir, boxKeyName, reason);
  record(context, { type: 'readmitted', request: id, generation, reason: mac, entries: readFenceUse(db, id).entries });
  if (isListed) settleListedAgain(context, request);
}

/** The requests given, and all that fence the same person; and those of others, which share a distinct id with one of these. */
function requestsAbout({ db }: ReceiveContext, ids: Iterable<string>): { all: string[]; others: string[] } {
  const all = new Set(ids);
  const others = new Set<string>();
  for (const id of all)
    for (const { requestId, isSamePerson } of fencedTogether(db, id)) (isSamePerson ? all : others).add(requestId);
  return { all: [...all], others: [...others].filter((id) => !all.has(id)) };
}

/**
 * An open request that is not fenced yet, and has an identifier that one of these requests has fenced, or whose person the service has
 * shown with one: such as by a merge.
 */
function waitingFor(context: ReceiveContext, ids: readonly string[]): string | undefined {
  const { db } = context;
  const unfenced = listRequests(db, 'open').filter(({ fencedAt }) => fencedAt === null);
  const isAbout = ({ id }: ErasureRequest): boolean => {
    const box = boxOf(context, id);
    if (!box) return false;
    const named = [...identifiersIn(box.identity), ...(box.shown ?? []).flatMap(identifiersOf)];
    return fencedBy(db, named).some((each) => ids.includes(each));
  };
  return unfenced.find(isAbout)?.id;
}
