import { AppError } from '../../core/errors.ts';
import { isoToMicros } from '../../core/time.ts';
import { DeletionStatus } from '../../contract/optional-endpoints.ts';
import { listTargets } from '../../mirror/erasure-targets.ts';
import { note, settle } from '../request/target-journal.ts';
import type { Subject } from '../request/box.ts';
import {
  eachSubjectTogether,
  inBatches,
  lastCreatedAt,
  openTarget,
  raise,
  type Outcome,
  type UpstreamContext,
} from './context.ts';
import type { Assurance, TargetResult } from '../../ledger/vocabulary.ts';
import { probeCapabilities } from './capabilities.ts';
import { isoTime } from '../../core/clock.ts';
import { nextBatchAfter } from '../../contract/weekly-batch.ts';

const target = 'upstream.events';

/** How often the service is asked how far a deletion is. */
const askAgainAfterMs = 3_600_000;

/** Finds out how far the deletion of every subject's events is. Deletes nothing. */
export async function advanceEvents(context: UpstreamContext, subjects: readonly Subject[]): Promise<void> {
  const open = subjects.filter((subject) => openTarget(context, subject, target));
  await eachSubjectTogether(context, open, target, (subject) => advance(context, subject));
}

async function advance(context: UpstreamContext, subject: Subject): Promise<Outcome | undefined> {
  const ended = (result: TargetResult, assurance: Assurance): Outcome => {
    return (own) => settle(own, [subject], target, { result, assurance });
  };
  const events = openTarget(context, subject, target);
  if (!events) return undefined;
  if (!subject.deleteEvents) return ended('kept', 'observed');
  const person = listTargets(context.db, subject.id).find((each) => each.target === 'upstream.person');
  // Another client deleted the person, perhaps without the events, and the events of a deleted person cannot be deleted.
  if (person?.result === 'already_absent') return ended('not_verifiable', 'not_verifiable');
  const nowMs = context.clock.now();
  if (events.status === 'pending') return undefined;
  if (events.status === 'waiting' && nowMs < Date.parse(events.notBefore ?? '')) return undefined;
  if (!(await probeCapabilities(context.service, context.signal)).deletionStatus)
    return events.status === 'waiting' ? ended('not_verifiable', 'not_verifiable') : undefined;
  if (events.attempts > 0 && nowMs - Date.parse(events.updatedAt) < askAgainAfterMs) return undefined;
  const queued = await queuedDeletions(context, subject);
  if (queued.length > 0 && queued.every(({ isCompleted }) => isCompleted))
    return ended('confirmed', 'asserted_by_upstream');
  return (own) => {
    if (queued.length === 0) raise(own, subject, target, 'events_unconfirmed');
    else if (events.reason === 'events_unconfirmed') noteFound(own, subject, queued);
    else if (nowMs >= overdueAtMs(events.notBefore ?? '')) raise(own, subject, target, 'events_overdue');
    note(own, subject, target, { attempts: events.attempts + 1 });
  };
}

/**
 * To be called where it is unknown whether the deletion of a subject's events was queued: the person is gone, and no answer
 * has accepted the deletion. Where the service shows its queue, the queue decides; otherwise an operator has to look.
 */
export async function doubtEvents(context: UpstreamContext, subject: Subject): Promise<void> {
  const events = openTarget(context, subject, target);
  if (!events || events.status === 'attention') return;
  const queued = (await probeCapabilities(context.service, context.signal)).deletionStatus
    ? await queuedDeletions(context, subject)
    : [];
  if (queued.length === 0) raise(context, subject, target, 'events_unconfirmed');
  else noteFound(context, subject, queued);
}

/** A deletion of events that the service has queued. */
type QueuedDeletion = { queuedAtMs: number; isCompleted: boolean };

function noteFound(context: UpstreamContext, subject: Subject, queued: readonly QueuedDeletion[]): void {
  const queuedAtMs = Math.max(...queued.map((each) => each.queuedAtMs));
  note(context, subject, target, { status: 'waiting', reason: null, notBefore: eventsExpectedBy(queuedAtMs) });
}

/** What the service has queued for the persons of a subject since they were created: of an earlier life, nothing. */
async function queuedDeletions(context: UpstreamContext, subject: Subject): Promise<QueuedDeletion[]> {
  const { service, signal } = context;
  const sinceMicros = isoToMicros(lastCreatedAt(context, subject) ?? '') ?? 0n;
  const answers = await inBatches(context, subject.identity.person_uuid, async (uuid) => {
    const { body } = await service.call('persons.deletion_status', {
      query: { person_uuid: uuid },
      priority: 'deletion',
      signal,
    });
    const answer = DeletionStatus.safeParse(body);
    if (!answer.success)
      throw new AppError('the service answered with something that is no status of deletions', {
        code: 'service',
        hint: 'nothing was taken from the answer; it is asked again',
      });
    return answer.data.results.filter((row) => row.person_uuid.toLowerCase() === uuid);
  });
  return answers.flat().flatMap((row) => {
    const micros = isoToMicros(row.created_at);
    if (micros === undefined || micros < sinceMicros) return [];
    return [{ queuedAtMs: Number(micros / 1000n), isCompleted: row.status === 'completed' }];
  });
}

/**
 * Notes that the service has accepted a deletion, and by when it should have deleted the events, in one transaction: when
 * a person is gone without this note, its events may never have been queued. Where the answer has no `Date`, or one that is more
 * than a month past, this machine's clock counts: a wait that is too short would be certified as over, and one that is too long ends
 * with the request. Not whole: some of the subject's persons are still to be deleted.
 */
export function noteAccepted(
  context: UpstreamContext,
  subject: Subject,
  { date, isWhole }: { date: string | undefined; isWhole: boolean },
): void {
  const nowMs = context.clock.now();
  const shownMs = serviceTimeMs(date) ?? nowMs;
  const timeMs = shownMs < nowMs - 30 * dayMs ? nowMs : shownMs;
  context.db
    .transaction(() => {
      note(context, subject, 'upstream.person', {
        status: isWhole ? 'waiting' : 'pending',
        reason: null,
        confirmations: 0,
        notBefore: null,
      });
      noteQueued(context, subject, timeMs);
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

/** When the events of a deletion accepted at a time (the service's) should be gone: a day after the next batch. */
export function eventsExpectedBy(acceptedAtMs: number): string {
  return isoTime(nextBatchAfter(acceptedAtMs) + dayMs);
}

/** From when on a deletion that was expected by a time is overdue: the second batch has had its day as well. */
export function overdueAtMs(expectedBy: string): number {
  return Date.parse(expectedBy) + 7 * dayMs;
}
