import { isoTime } from '../../core/clock.ts';
import { nextBatchAfter } from '../../contract/weekly-batch.ts';
import type { Subject } from '../request/box.ts';
import { note } from '../request/target-journal.ts';
import { openTarget, type UpstreamContext } from './context.ts';

/**
 * Notes that the service has accepted a deletion, and by when it should have deleted the events, in one transaction: when
 * a person is gone without this note, its events may never have been queued. Where the answer has no `Date`, this machine's
 * clock counts. Not whole: some of the subject's persons are still to be deleted.
 */
export function noteAccepted(
  context: UpstreamContext,
  subject: Subject,
  { date, isWhole }: { date: string | undefined; isWhole: boolean },
): void {
  const timeMs = serviceTimeMs(date);
  context.db
    .transaction(() => {
      note(context, subject, 'upstream.person', {
        status: isWhole ? 'waiting' : 'pending',
        reason: null,
        confirmations: 0,
        notBefore: null,
      });
      noteQueued(context, subject, timeMs ?? context.clock.now());
    })
    .immediate();
}

/** Notes that the deletion of a subject's events was queued at a time. What is in doubt of them stays in doubt. */
function noteQueued(context: UpstreamContext, subject: Subject, queuedAtMs: number): void {
  const events = openTarget(context, subject, 'upstream.events');
  if (!subject.deleteEvents || !events || events.status === 'attention') return;
  const expectedBy = eventsExpectedBy(queuedAtMs);
  const isLater = events.notBefore === null || events.notBefore < expectedBy;
  note(context, subject, 'upstream.events', { status: 'waiting', notBefore: isLater ? expectedBy : events.notBefore });
}

const dayMs = 86_400_000;

/** The service's own time of an answer, from its `Date` header; undefined where it gives none that is a time. */
export function serviceTimeMs(date: string | undefined): number | undefined {
  const timeMs = Date.parse(date ?? '');
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

/**
 * By when the events of a deletion that was accepted at a time (the service's) should be gone: a day after the first
 * batch that comes after it. A time of the batch itself is too late for that batch.
 */
export function eventsExpectedBy(acceptedAtMs: number): string {
  return isoTime(nextBatchAfter(acceptedAtMs) + dayMs);
}

/** From when on a deletion that was expected by a time is overdue: the second batch has had its day as well. */
export function overdueAtMs(expectedBy: string): number {
  return Date.parse(expectedBy) + 7 * dayMs;
}
