import { isoTime } from '../../core/clock.ts';
import { assertNever } from '../../core/errors.ts';
import { presentOf } from '../../core/present.ts';
import { listTargets, type ErasureTarget } from '../../mirror/erasure-targets.ts';
import { note, settle } from '../request/target-journal.ts';
import type { Subject } from '../request/box.ts';
import {
  eachSubjectTogether,
  isDue as isTargetDue,
  isLately,
  openTarget,
  raise,
  waitOf,
  type Outcome,
  type UpstreamContext,
} from './context.ts';
import type { UpstreamTarget } from '../../ledger/target.ts';
import type { Assurance, TargetResult } from '../../ledger/vocabulary.ts';
import { probeCapabilities } from './capabilities.ts';
import {
  eventsExpectedBy,
  judgeDeletions,
  overdueAtMs,
  ownAfterAnswer,
  serviceTimeMs,
  type Judgement,
} from './events-plan.ts';
import { askForDeletions } from './queued-deletions.ts';
import type { RequestHistory } from '../../ledger/request-history.ts';
import { fencedTogether } from '../../mirror/fence.ts';
import { transact } from '../../mirror/transact.ts';

const target = 'upstream.events';

/** How often the service is asked how far a deletion is. */
const askAgainAfterMs = 3_600_000;

/** Finds out how far the deletion of every subject's events is. Deletes nothing. */
export async function advanceEvents(context: UpstreamContext, subjects: readonly Subject[]): Promise<void> {
  const open = subjects.filter((subject) => openTarget(context, subject, target));
  // Some end as what others have just come to.
  for (const isAfter of [false, true]) {
    const some = open.filter((subject) => endsAsOthers(context, subject) === isAfter);
    await eachSubjectTogether(context, some, (subject) => advance(context, subject));
  }
}

/** A target of a request, also one that is done. */
function targetOf({ db }: UpstreamContext, id: string, name: UpstreamTarget): ErasureTarget | undefined {
  return listTargets(db, id).find((each) => each.target === name);
}

/**
 * Whether this request deletes no events itself: the events of a deleted person cannot be deleted. Another request may have done it, or
 * another client, perhaps without the events.
 */
function endsAsOthers(context: UpstreamContext, subject: Subject): boolean {
  return !subject.deleteEvents || targetOf(context, subject.id, 'upstream.person')?.result === 'already_absent';
}

async function advance(context: UpstreamContext, subject: Subject): Promise<Outcome | undefined> {
  const ended = (result: TargetResult, assurance: Assurance, until: string | null = null): Outcome => {
    return (own) => settle(own, [subject], target, { result, assurance, ...(until === null ? {} : { until }) });
  };
  const events = openTarget(context, subject, target);
  if (!events) return undefined;
  const person = targetOf(context, subject.id, 'upstream.person');
  if (endsAsOthers(context, subject)) {
    const deleter = otherRequest(context, subject, ({ deletesEvents }) => deletesEvents);
    if (person?.result === 'already_absent' && deleter?.deletedUpstreamAt)
      return asOf(context, subject, deleter, ended);
    if (!subject.deleteEvents) return deleter && person?.status !== 'done' ? undefined : ended('kept', 'observed');
    const keeper = otherRequest(context, subject, (each) => !each.deletesEvents && each.deletedUpstreamAt !== null);
    return ended(keeper ? 'not_queued' : 'not_verifiable', 'not_verifiable');
  }
  // The person may wait for an earlier deletion of the events.
  if (person?.attempts === 0) return undefined;
  // Nothing is waited for where a restored mirror has lost what was sent.
  const isDue = events.notBefore === null ? person?.status === 'done' : isTargetDue(context, events);
  // Rows can come a moment after the person has gone.
  if (!isDue && !isDoubted(events) && !(events.status === 'attention' && person?.status === 'done')) return undefined;
  if (events.attempts > 0 && isLately(context, events, askAgainAfterMs)) return undefined;
  const judged = await judge(context, subject, events);
  if (!judged) return isDue && !isDoubted(events) ? ended('not_verifiable', 'not_verifiable') : undefined;
  if (judged.found === 'own' && judged.isCompleted) return ended('confirmed', 'asserted_by_upstream');
  const isGone = person?.result === 'deleted';
  // While the person is there, its deletion can be sent again, and that of the events be queued with it.
  if (isDue && isGone && events.reason !== 'events_unconfirmed') {
    if (judged.found === 'part' && judged.isCompleted)
      return ended('partly_deleted', 'asserted_by_upstream', judged.until);
    if (judged.found === 'none' && events.confirmations + 1 >= context.settings.deletions.confirmations)
      return ended('not_queued', 'not_verifiable');
  }
  return (own) => noteJudged(own, subject, events, { judged, isGone });
}

/** Another request about the same person that was not over before this one was received: the one that has deleted the person, if any. */
function otherRequest(
  { db, ledger }: UpstreamContext,
  { id }: Subject,
  isMeant: (history: RequestHistory) => boolean,
): RequestHistory | undefined {
  const { histories } = ledger();
  const own = histories.of(id)?.received.entry ?? 0;
  const others = fencedTogether(db, id).flatMap(({ requestId, isSamePerson }) =>
    isSamePerson ? (histories.of(requestId) ?? []) : [],
  );
  const meant = others.filter((each) => (each.sealed?.entry ?? own) >= own && isMeant(each));
  return meant.find(({ deletedUpstreamAt }) => deletedUpstreamAt !== null) ?? meant[0];
}

/** What becomes of the events that another request deletes becomes of them here. Until then, this one waits as long as that one. */
function asOf(
  context: UpstreamContext,
  subject: Subject,
  { request, targets }: RequestHistory,
  ended: (result: TargetResult, assurance: Assurance, until: string | null) => Outcome,
): Outcome | undefined {
  const theirs = targetOf(context, request, target);
  const end = targets.get(target);
  if (end && theirs?.status === 'done') return ended(end.result, end.assurance, end.until);
  if (!theirs?.notBefore) return undefined;
  const { notBefore, waitFrom } = theirs;
  return (own) => note(own, subject, target, { notBefore, waitFrom });
}

/** Whether an operator has to say how the events end, unless the service shows more. */
function isDoubted({ reason }: ErasureTarget): boolean {
  return reason === 'events_unconfirmed' || reason === 'events_overdue';
}

/** What the service shows now; undefined where it does not show its queue, or did not before the first deletion was sent. */
async function judge(
  context: UpstreamContext,
  { identity }: Subject,
  { ownAfter, personsSent }: ErasureTarget,
  personsMax = Number.POSITIVE_INFINITY,
): Promise<Judgement | undefined> {
  if (ownAfter === null || !(await probeCapabilities(context.service, context.signal)).deletionStatus) return undefined;
  const { rows } = await askForDeletions(context, identity.person_uuid);
  return judgeDeletions(rows, { ownAfter, persons: Math.min(personsSent ?? 1, personsMax) });
}

/** Notes what the service shows, where that does not end the target. */
function noteJudged(
  context: UpstreamContext,
  subject: Subject,
  events: ErasureTarget,
  { judged, isGone }: { judged: Judgement; isGone: boolean },
): void {
  const { reason, attempts, confirmations, notBefore } = events;
  const isOverdue = presentOf(context).earliestMs >= overdueAtMs(notBefore ?? '');
  switch (judged.found) {
    case 'own':
      if (reason !== null && reason !== 'events_overdue') noteFound(context, subject, judged);
      else if (isOverdue) raise(context, subject, target, 'events_overdue');
      break;
    case 'part':
      if (isOverdue && reason !== 'events_unconfirmed') raise(context, subject, target, 'events_overdue');
      break;
    case 'none':
      if (isGone && reason !== 'events_unconfirmed') raise(context, subject, target, 'events_not_queued');
      break;
    default:
      assertNever(judged);
  }
  note(context, subject, target, {
    attempts: attempts + 1,
    confirmations: isGone && judged.found === 'none' ? confirmations + 1 : 0,
  });
}

/**
 * To be called where it is unknown whether the deletion of a subject's events was queued: the persons are gone, and no answer
 * has accepted the deletion. Where the service shows its queue, the queue decides; otherwise an operator has to look.
 */
export async function doubtEvents(context: UpstreamContext, subject: Subject, gone: readonly string[]): Promise<void> {
  const events = openTarget(context, subject, target);
  if (!events || (events.status === 'attention' && events.reason !== 'events_queued_before')) return;
  const judged = await judge(context, subject, events, gone.length);
  if (judged?.found === 'own') noteFound(context, subject, judged);
  else raise(context, subject, target, 'events_unconfirmed');
}

function noteFound(context: UpstreamContext, subject: Subject, { queuedAtMs }: { queuedAtMs: number }): void {
  note(context, subject, target, {
    status: 'waiting',
    reason: null,
    ...waitOf(context, { until: eventsExpectedBy(queuedAtMs) }),
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
  const dateMs = serviceTimeMs(date);
  const shownMs = dateMs ?? nowMs;
  const timeMs = shownMs < nowMs - 30 * dayMs ? nowMs : shownMs;
  transact(context.db, () => {
    const sentBy = openTarget(context, subject, 'upstream.person')?.sentBy ?? null;
    note(context, subject, 'upstream.person', {
      ...(sentBy === null && dateMs !== undefined ? { sentBy: isoTime(dateMs) } : {}),
      status: isWhole ? 'waiting' : 'pending',
      reason: null,
      confirmations: 0,
      notBefore: null,
    });
    noteQueued(context, subject, timeMs);
    if (dateMs !== undefined) noteSentAfter(context, subject, dateMs);
  });
}

/** Notes that the deletion of a subject's events was queued at a time. What is in doubt of them stays in doubt. */
function noteQueued(context: UpstreamContext, subject: Subject, queuedAtMs: number): void {
  const events = openTarget(context, subject, target);
  if (!subject.deleteEvents || !events || isDoubted(events)) return;
  const expectedBy = eventsExpectedBy(queuedAtMs);
  const isLater = events.notBefore === null || events.notBefore < expectedBy;
  note(context, subject, target, {
    ...(events.status === 'attention' ? {} : { status: 'waiting' }),
    ...(isLater ? waitOf(context, { until: expectedBy }) : {}),
  });
}

/** A deletion can have waited long for its turn: where it is the only one, its answer says better when it was sent. */
function noteSentAfter(context: UpstreamContext, subject: Subject, answeredAtMs: number): void {
  const ownAfter = openTarget(context, subject, target)?.ownAfter ?? null;
  if (ownAfter === null || openTarget(context, subject, 'upstream.person')?.attempts !== 1) return;
  const { totalTimeoutMs } = context.settings.service;
  note(context, subject, target, { ownAfter: ownAfterAnswer(ownAfter, answeredAtMs, totalTimeoutMs) });
}

const dayMs = 86_400_000;
