import type { JobContext } from '../../job/job-context.ts';
import type { AttentionReason } from '../../ledger/vocabulary.ts';
import { nobody, unionOf, type Identity } from '../../contract/identity.ts';
import { listRequests, updateRequest } from '../../mirror/erasure-requests.ts';
import { hasBox } from '../../mirror/request-box.ts';
import { hasFence } from '../../mirror/fence.ts';
import { boxOf, closeBox, listedIdentity, newBox } from './box.ts';
import { listTargets } from '../../mirror/erasure-targets.ts';
import { record, together, type StepContext } from './together.ts';

/**
 * Opens a request again, as its next generation: the subject has to be found, fenced and erased here once more. What the
 * service has answered stays, but of those who are to be sought there again. A generation that has no fence yet goes on.
 */
export function reopenRequest(context: StepContext, id: string, reason: AttentionReason): void {
  const { generation, isBegun, isUnnamed } = nextGeneration(context, id);
  if (!isBegun || isUnnamed) record(context, { type: 'reopened', request: id, generation, reason });
}

/** The generation in which a request is opened again, and whether it was begun, and nothing has come of it yet. */
function nextGeneration(context: StepContext, id: string) {
  const history = context.ledger().histories.of(id);
  if (!history) throw new Error('a request that the ledger does not have');
  const { generation, fence, reopened, verified, certified, sealed, isUnnamed } = history;
  const isBegun =
    generation > (fence?.generation ?? 0) &&
    (verified?.entry ?? 0) <= (reopened?.entry ?? 0) &&
    certified.every((issued) => issued.generation !== generation) &&
    sealed === null;
  return { generation: generation + (isBegun ? 0 : 1), isBegun, isUnnamed };
}

/**
 * Opens a request again whose certificate is contradicted, and whose person cannot be named: its identifiers are destroyed.
 * It is the next generation, in attention at one target, until the evidence is gone or the person is named.
 */
export function reopenUnnamed(
  context: StepContext,
  id: string,
  target: 'upstream.person' | 'upstream.recordings' | 'mirror',
  reason: AttentionReason,
): void {
  const about = { request: id, generation: nextGeneration(context, id).generation, reason };
  together(context, (own) => {
    record(own, { type: 'reopened', ...about, unnamed: true }, { type: 'attention', ...about, target });
    updateRequest(own.db, id, { lifeFrom: null, lifeEndedAt: null });
  });
}

/**
 * Opens each request that somebody asked for again whose person or recording the service lists again, although it had said that
 * it is gone: the person is looked up and deleted once more. Where the service has denied the person it lists before, or lists
 * a recording, an operator has to decide. Returns how many were opened.
 */
export function reopenListed(context: Pick<JobContext, 'db' | 'clock' | 'ledger' | 'settings'>): number {
  const { db } = context;
  const { histories } = context.ledger();
  const listed = listRequests(db, 'all').filter(
    ({ origin, listedAgainPass }) => origin !== 'upstream' && listedAgainPass !== null,
  );
  for (const request of listed) {
    const { id } = request;
    together(context, (own) => {
      const identity = listedIdentity(context, id);
      const target = identity?.person_uuid.length === 0 ? 'upstream.recordings' : 'upstream.person';
      const result = listTargets(db, id).find((each) => each.target === target)?.result;
      const isReopened = histories.of(id)?.reopened?.reason === 'listed_again';
      updateRequest(db, id, { listedAgainPass: null, listedAgain: null });
      if (!identity || !hasFence(db, id)) return;
      if (isReopened && request.fencedAt === null) {
        // A kill came before its identifiers were kept.
        if (!hasBox(db, id)) nameAgain(own, id, identity);
        return;
      }
      // Begun again for another reason.
      if (result === null) return;
      if (target === 'upstream.recordings' || (isReopened && result === 'already_absent')) {
        reopenUnnamed(own, id, target, 'listed_again');
        return;
      }
      nameAgain(own, id, identity);
      reopenRequest(own, id, 'listed_again');
    });
  }
  return listed.length;
}

/**
 * Opens a request again where more is known of its person than when it was fenced: distinct ids that the service shows before it
 * deletes the person, or somebody who was merged into it. Call it in a step (`together`).
 */
export function reopenWider(
  context: Pick<JobContext, 'db' | 'clock' | 'ledger' | 'settings'>,
  id: string,
  found: Identity,
): void {
  nameAgain(context, id, found);
  reopenRequest(context, id, 'shown_wider');
}

/**
 * Gives a request identifiers again, and texts of its subject, beside those that it still has. Where it had none, its life
 * begins again. Call it in a step (`together`).
 */
export function nameAgain(
  { db, settings }: Pick<JobContext, 'db' | 'settings'>,
  id: string,
  found: Identity,
  { values = [], leftOut = 0 }: { values?: readonly string[]; leftOut?: number } = {},
): void {
  const known = boxOf({ db, settings }, id);
  const box = known ?? { ...newBox([], nobody), shown: [] };
  const left = (box.leftOut ?? 0) + leftOut;
  const whole = {
    ...box,
    identity: unionOf([box.identity, found]),
    values: [...new Set([...box.values, ...values])],
    ...(left > 0 ? { leftOut: left } : {}),
  };
  updateRequest(db, id, {
    box: closeBox({ db, settings }, id, whole),
    ...(known ? {} : { lifeFrom: null, lifeEndedAt: null }),
  });
}

/**
 * Opens a request again that is in attention because its person has come back at the service: the same person is requested
 * once more, so the person who is there now is looked up and deleted. Returns whether the request was such a one.
 */
export function reopenIfRecreated(context: Pick<JobContext, 'db' | 'clock' | 'ledger'>, id: string): boolean {
  const isBack = listTargets(context.db, id).some(
    ({ target, status, reason }) => target === 'upstream.person' && status === 'attention' && reason === 'recreated',
  );
  if (isBack) reopenRequest(context, id, 'recreated');
  return isBack;
}
