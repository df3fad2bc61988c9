import { isoTime } from '../../core/clock.ts';
import { presentOf } from '../../core/present.ts';
import type { Assurance } from '../../ledger/vocabulary.ts';
import { findRequest } from '../../mirror/erasure-requests.ts';
import type { ErasureTarget } from '../../mirror/erasure-targets.ts';
import type { Subject } from '../request/box.ts';
import { intend, note } from '../request/target-journal.ts';
import { eventsExpectedBy } from './events-plan.ts';
import { probeCapabilities } from './capabilities.ts';
import { isDue, isLately, openTarget, waitOf, type UpstreamContext } from './context.ts';
import { transact } from '../../mirror/transact.ts';

// Live services delete a person's recordings together with the person, some time later, when a parameter says so. Its
// presence counts, so it is sent only where it is true. Services that have the endpoint of bulk deletion are asked. Only the
// answer of that endpoint says whether the recordings are queued; the answer to a DELETE has no words.

const target = 'upstream.recordings';

/** How often the service is asked for recordings whose deletion was requested. */
const askAgainAfterMs = 6 * 3_600_000;

/** Whether the deletion of recordings is to be requested with that of their person. Rejects as the probe does. */
export async function deletesRecordings({ service, settings, signal }: UpstreamContext): Promise<boolean> {
  return settings.erasure.deleteRecordings === 'auto' && (await probeCapabilities(service, signal)).bulkDelete;
}

/** Whether a deletion that may have had an effect asked for the recordings too. */
export function isRequested({ attempts }: Pick<ErasureTarget, 'attempts'>): boolean {
  return attempts > 0;
}

/** Records the intent to request the deletion, before it is sent. The recordings have as long to go as events have. */
export function beginRequest(context: UpstreamContext, subjects: readonly Subject[]): void {
  const open = subjects.filter((subject) => openTarget(context, subject, target));
  if (open.length === 0) return;
  intend(context, open, target);
  const wait = waitOf(context, { until: eventsExpectedBy(presentOf(context).latestMs) });
  transact(context.db, () => {
    for (const subject of open) {
      const attempts = (openTarget(context, subject, target)?.attempts ?? 0) + 1;
      note(context, subject, target, { attempts, ...wait, confirmations: 0 });
    }
  });
}

/** Notes that the service took the request; `isQueued`: its answer says that the recordings are queued for deletion. */
export function noteRequested(context: UpstreamContext, subject: Subject, isQueued: boolean): void {
  const recordings = openTarget(context, subject, target);
  if (!recordings) return;
  // An answer without words takes nothing from the words of an earlier one.
  const assurance: Assurance = isQueued ? 'asserted_by_upstream' : (recordings.assurance ?? 'not_verifiable');
  note(context, subject, target, { status: 'waiting', assurance });
}

/** A request without any effect is not counted. */
export function takeRequestBack(context: UpstreamContext, subject: Subject): void {
  const recordings = openTarget(context, subject, target);
  if (recordings?.status !== 'intended') return;
  const attempts = Math.max(0, recordings.attempts - 1);
  note(
    context,
    subject,
    target,
    attempts > 0 ? { status: 'waiting', attempts } : { status: 'pending', attempts, notBefore: null },
  );
}

/** Whether there is nothing to do for a subject's recordings now: their deletion may still be requested, or takes its time. */
export async function advancesLater(context: UpstreamContext, subject: Subject): Promise<boolean> {
  letStay(context, subject);
  const recordings = openTarget(context, subject, target);
  if (!recordings || leavesAnId(context, subject)) return true;
  // Those that are deleted by their ids wait for nothing but the next look.
  if (recordings.sentRows > 0) return !isDue(context, recordings);
  const isPersonOpen = openTarget(context, subject, 'upstream.person') !== undefined;
  if (!isRequested(recordings))
    return !isDue(context, recordings) || (isPersonOpen && (await deletesRecordings(context)));
  const isDueByTime = isDue(context, recordings);
  // Between two answers that all are gone, the pause is the one of every confirmation.
  if (isDueByTime || recordings.confirmations > 0) return !isDueByTime;
  if (subject.identity.recording_id.length === 0) return recordings.status === 'intended' && isPersonOpen;
  return isLately(context, recordings, askAgainAfterMs);
}

/** Notes that recordings are still there. Returns whether the service has time left to delete them. */
export function noteStillThere(context: UpstreamContext, subject: Subject, recordings: ErasureTarget): boolean {
  if (isDue(context, recordings)) return false;
  note(context, subject, target, { status: 'waiting', confirmations: 0 });
  return true;
}

/** How recordings end whose deletion was requested, and that are not seen to be gone. */
export function requestedEnd({ assurance }: Pick<ErasureTarget, 'assurance'>) {
  return { result: 'deletion_requested', assurance: assurance ?? 'not_verifiable' } as const;
}

/**
 * Lets the recordings of a person whom nobody has asked for stay until `collectHours` after the service has shown the person as gone:
 * its reads can stand still for a while and know nothing of new persons, and a deleted recording does not come back.
 */
export function letStay(context: UpstreamContext, subject: Subject): void {
  if (subject.origin !== 'upstream' || subject.identity.recording_id.length === 0) return;
  const recordings = openTarget(context, subject, target);
  if (recordings?.status !== 'pending' || recordings.notBefore !== null) return;
  const waitFrom = findRequest(context.db, subject.id)?.receivedAt ?? isoTime(context.clock.now());
  const lastsMs = context.settings.deletions.collectHours * 3_600_000;
  note(context, subject, target, { notBefore: isoTime(Date.parse(waitFrom) + lastsMs), waitFrom });
}

/** Whether an operator has yet to say whose a distinct id of the person is: the recordings may be the other person's. */
export function leavesAnId(context: UpstreamContext, subject: Subject): boolean {
  return openTarget(context, subject, 'upstream.person')?.reason === 'distinct_id_elsewhere';
}
