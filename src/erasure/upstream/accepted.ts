import { note } from '../request/target-journal.ts';
import { openTarget, type Lane, type UpstreamSubject } from './context.ts';
import { eventsExpectedBy, serviceTimeMs } from './service-time.ts';

/**
 * Notes that the service has accepted a deletion, and by when it should have deleted the events, in one transaction: a
 * person that is gone without this note is one whose events may never have been queued. Not whole: some of the
 * subject's persons are still to be deleted.
 */
export function noteAccepted(
  lane: Lane,
  subject: UpstreamSubject,
  { date, isWhole }: { date: string | undefined; isWhole: boolean },
): void {
  const timeMs = serviceTimeMs(date);
  if (timeMs === undefined) lane.withoutDate.add(subject.id);
  lane.db
    .transaction(() => {
      note(lane, subject, 'upstream.person', {
        status: isWhole ? 'waiting' : 'pending',
        reason: null,
        confirmations: 0,
        notBefore: null,
      });
      noteQueued(lane, subject, timeMs ?? lane.clock.now());
    })
    .immediate();
}

/** Notes that the deletion of a subject's events was queued at a time. What is in doubt of them stays in doubt. */
function noteQueued(lane: Lane, subject: UpstreamSubject, queuedAtMs: number): void {
  const events = openTarget(lane, subject, 'upstream.events');
  if (!subject.deleteEvents || !events || events.status === 'attention') return;
  const expectedBy = eventsExpectedBy(queuedAtMs);
  const isLater = events.notBefore === null || events.notBefore < expectedBy;
  note(lane, subject, 'upstream.events', {
    status: 'waiting',
    notBefore: isLater ? expectedBy : events.notBefore,
  });
}
