import { isoTime } from '../../core/clock.ts';
import type { JobContext } from '../../job/job-context.ts';
import type { LedgerRecord } from '../../ledger/record.ts';
import { elsewhereTargets, type FixedTarget } from '../../ledger/target.ts';
import type { AttentionReason } from '../../ledger/vocabulary.ts';
import { nobody, unionOf, type Identity } from '../../contract/identity.ts';
import { findRequest, listRequests, type ErasureRequest, updateRequest } from '../../mirror/erasure-requests.ts';
import { hasFence } from '../../mirror/fence.ts';
import { boxOf, closeBox, listedIdentity, newBox } from './box.ts';
import { changeTarget, listTargets, restartTarget } from '../../mirror/erasure-targets.ts';

/**
 * Opens a request again, as its next generation: the subject has to be found, fenced and erased here once more. What the
 * service has answered stays. Call it inside a transaction, and append the record that it returns in the same transaction.
 */
export function reopenRequest(
  { db, clock }: Pick<JobContext, 'db' | 'clock'>,
  { id, generation }: { id: string; generation: number },
  reason: AttentionReason,
): LedgerRecord {
  const at = isoTime(clock.now());
  for (const { target } of listTargets(db, id))
    if (['mirror', 'aux', ...elsewhereTargets].some((name) => name === target)) restartTarget(db, id, target, at);
  updateRequest(db, id, {
    generation,
    scopedAt: at,
    // It was approved, if it had to be, when it was fenced the first time.
    approvedAt: at,
    heldAt: null,
    cancelledAt: null,
    fencedAt: null,
    verifiedAt: null,
    certifiedAt: null,
    sealedAt: null,
  });
  return { type: 'reopened', request: id, generation, reason };
}

/**
 * Opens a request again whose certificate is contradicted, and whose person cannot be named: its identifiers are destroyed.
 * It is the next generation, in attention at one target, until the evidence is gone or the person is named. Call it inside
 * a transaction, and append the records that it returns in the same transaction.
 */
export function reopenUnnamed(
  { db, clock }: Pick<JobContext, 'db' | 'clock'>,
  { id, generation: before, verifiedAt }: Pick<ErasureRequest, 'id' | 'generation' | 'verifiedAt'>,
  target: 'upstream.person' | 'upstream.recordings' | 'mirror',
  reason: AttentionReason,
): LedgerRecord[] {
  const at = isoTime(clock.now());
  const generation = before + 1;
  for (const other of listTargets(db, id))
    if ([target, ...elsewhereTargets].some((name) => name === other.target)) restartTarget(db, id, other.target, at);
  changeTarget(db, id, target, { status: 'attention', reason }, at);
  updateRequest(db, id, {
    generation,
    verifiedAt: target === 'mirror' ? null : verifiedAt,
    certifiedAt: null,
    sealedAt: null,
    reopenedAt: at,
    lifeFrom: null,
  });
  return [
    { type: 'reopened', request: id, generation, reason },
    { type: 'attention', request: id, generation, target, reason },
  ];
}

/**
 * Opens each request that somebody asked for again whose person or recording the service lists again, although it had said that
 * it is gone: the person is looked up and deleted once more. Where the service has denied the person it lists before, or lists
 * a recording, an operator has to decide. Returns how many were opened.
 */
export function reopenListed(context: Pick<JobContext, 'db' | 'clock' | 'ledger' | 'settings'>): number {
  const { db, ledger, settings } = context;
  const { histories } = ledger();
  const listed = listRequests(db, 'all').filter(
    ({ origin, listedAgainPass }) => origin !== 'upstream' && listedAgainPass !== null,
  );
  for (const request of listed) {
    const { id } = request;
    db.transaction(() => {
      const identity = listedIdentity(settings.dataDir, db, id);
      const target = identity?.person_uuid.length === 0 ? 'upstream.recordings' : 'upstream.person';
      const result = listTargets(db, id).find((each) => each.target === target)?.result;
      const wasDenied = histories.of(id)?.reopenedFor === 'listed_again' && result === 'already_absent';
      updateRequest(db, id, { listedAgainPass: null, listedAgain: null });
      // Lifted meanwhile, or begun again for another reason.
      if (!identity || result === null || !hasFence(db, id)) return;
      // Within the transaction: if the ledger cannot be written, nothing is done.
      if (target === 'upstream.recordings' || wasDenied) {
        ledger().append(reopenUnnamed(context, request, target, 'listed_again'));
        return;
      }
      nameAgain(context, id, identity);
      seekAgain(context, request, 'listed_again', ['upstream.person', 'upstream.events']);
    }).immediate();
  }
  return listed.length;
}

/**
 * Opens a request again where more is known of its person than when it was fenced: distinct ids that the service shows before it
 * deletes the person, or somebody who was merged into it. Call it inside a transaction (`together`).
 */
export function reopenWider(
  context: Pick<JobContext, 'db' | 'clock' | 'ledger' | 'settings'>,
  id: string,
  found: Identity,
): void {
  const request = findRequest(context.db, id);
  if (!request) return;
  nameAgain(context, id, found);
  seekAgain(context, request, 'shown_wider', ['upstream.recordings', 'upstream.playlists']);
}

/** Opens a request again, and the service is asked for its person once more. Some of what it has answered counts no more. */
function seekAgain(
  context: Pick<JobContext, 'db' | 'clock' | 'ledger'>,
  { id, generation }: ErasureRequest,
  reason: AttentionReason,
  targets: readonly FixedTarget[],
): void {
  const { db, ledger, clock } = context;
  const record = reopenRequest(context, { id, generation: generation + 1 }, reason);
  for (const target of targets) restartTarget(db, id, target, isoTime(clock.now()));
  updateRequest(db, id, { scopedAt: null, ...(targets.includes('upstream.events') ? { eventsExpectedBy: null } : {}) });
  // If the ledger cannot be written, the transaction is undone.
  ledger().append([record]);
}

/**
 * Gives a request identifiers again, and texts of its subject, beside those that it still has. Where it had none, its life
 * begins again. Call it inside a transaction.
 */
export function nameAgain(
  { db, settings, clock }: Pick<JobContext, 'db' | 'clock' | 'settings'>,
  id: string,
  found: Identity,
  { values = [], leftOut = 0 }: { values?: readonly string[]; leftOut?: number } = {},
): void {
  const known = boxOf({ db, settings }, id);
  const box = known ?? newBox([], nobody);
  const left = (box.leftOut ?? 0) + leftOut;
  const whole = {
    ...box,
    identity: unionOf([box.identity, found]),
    values: [...new Set([...box.values, ...values])],
    ...(left > 0 ? { leftOut: left } : {}),
  };
  updateRequest(db, id, {
    box: closeBox({ db, settings }, id, whole),
    ...(known ? {} : { reopenedAt: isoTime(clock.now()), lifeFrom: null }),
  });
}

/**
 * Opens a request again that is in attention because its person has come back at the service: the same person is requested
 * once more, so the person who is there now is looked up and deleted. Returns whether the request was such a one.
 */
export function reopenIfRecreated(context: Pick<JobContext, 'db' | 'clock' | 'ledger'>, id: string): boolean {
  const { db } = context;
  const request = findRequest(db, id);
  const isBack = listTargets(db, id).some(
    ({ target, status, reason }) => target === 'upstream.person' && status === 'attention' && reason === 'recreated',
  );
  if (!request || !isBack) return false;
  db.transaction(() => seekAgain(context, request, 'recreated', ['upstream.person', 'upstream.events'])).immediate();
  return true;
}
