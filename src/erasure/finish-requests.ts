import { isoTime } from '../core/clock.ts';
import { expireDeletionFeed } from '../mirror/erase-rows.ts';
import { listRequests, type ErasureRequest } from '../mirror/erasure-requests.ts';
import { listTargets } from '../mirror/erasure-targets.ts';
import { purgeDeleted } from '../mirror/purge.ts';
import { expireDeletions } from '../snapshot/rewrite.ts';
import { updateRequest, type ErasureParts } from './erasure-parts.ts';
import { feedBegin } from './erasure-plan.ts';
import { certificateIssuer } from './issue-certificate.ts';
import { isLocal } from './request-state.ts';
import { callAttention, settle } from './target-steps.ts';
import { TargetName } from '../ledger/record.ts';

/** What came to its end. */
export type FinishResult = { certified: number; sealed: number; feedExpired: number };

const dayMs = 86_400_000;

/**
 * Ends what has come to its end: requests that reached all their targets are certified, their identifiers destroyed; so
 * are those of requests that have lived too long; and deletions that have been in the feeds long enough leave them.
 */
export async function finishRequests(parts: ErasureParts): Promise<FinishResult> {
  const { db, settings, clock, signal } = parts;
  const result: FinishResult = { certified: 0, sealed: 0, feedExpired: 0 };
  const open = listRequests(db, 'open');
  for (const request of open) endLongLife(parts, request);
  const issue = certificateIssuer(parts);
  for (const request of open) if (certify(parts, request, issue)) result.certified += 1;
  result.feedExpired = expireDeletionFeed(db, feedBegin(parts));
  await expireDeletions(settings.dataDir, feedBegin(parts), { epoch: parts.ledger.epoch(), signal });
  const sealing = listRequests(db, 'open').filter(({ certifiedAt }) => certifiedAt !== null);
  db.transaction(() => {
    for (const { id } of sealing) updateRequest(db, id, { box: null, authorisedBy: null });
  }).immediate();
  // A reader that holds the old pages only delays this: the box is encrypted, and the next reconciliation tries again.
  if (sealing.length + result.feedExpired === 0 || !(await purgeDeleted(db, clock, signal))) return result;
  for (const { id, generation } of sealing) {
    parts.ledger.append([{ type: 'sealed', request: id, generation }]);
    db.transaction(() => updateRequest(db, id, { sealedAt: isoTime(clock.now()) })).immediate();
    result.sealed += 1;
  }
  return result;
}

function certify(
  parts: ErasureParts,
  { id, generation, verifiedAt, certifiedAt }: ErasureRequest,
  issue: ReturnType<typeof certificateIssuer>,
): boolean {
  const { db, ledger, clock } = parts;
  if (verifiedAt === null || certifiedAt !== null) return false;
  if (listTargets(db, id).some(({ status }) => status !== 'done')) return false;
  const certificate = issue({ id, generation });
  ledger.append([{ type: 'certified', request: id, generation, certificate }]);
  db.transaction(() => updateRequest(db, id, { certifiedAt: isoTime(clock.now()) })).immediate();
  return true;
}

/**
 * Nothing keeps the identifiers of a request for longer than the settings say: one that is not fenced is given up, and
 * what the service has not answered by then is not verifiable.
 */
function endLongLife(parts: ErasureParts, request: ErasureRequest): void {
  const { db, ledger, settings, clock } = parts;
  const ageMs = clock.now() - Date.parse(request.receivedAt);
  if (ageMs < settings.erasure.maxRequestDays * dayMs) return;
  const { id, generation } = request;
  if (request.fencedAt === null) {
    // One that was fenced before, and opened again, goes on: it cannot be given up.
    if (generation > 1) return;
    ledger.append([{ type: 'cancelled', request: id, generation }]);
    db.transaction(() =>
      updateRequest(db, id, { cancelledAt: isoTime(clock.now()), box: null, authorisedBy: null }),
    ).immediate();
    return;
  }
  for (const { target: name, status } of listTargets(db, id)) {
    if (isLocal(name) || status === 'done') continue;
    const target = TargetName.parse(name);
    callAttention(parts, request, target, 'life_exceeded');
    settle(parts, [request], target, { result: 'not_verifiable', assurance: 'not_verifiable' });
  }
}
