import { isoTime } from '../../core/clock.ts';
import { assertNever, type AppError } from '../../core/errors.ts';
import { bulkDeleteIdsMax } from '../../contract/optional-endpoints.ts';
import { note, settle } from '../request/target-journal.ts';
import { together } from '../request/together.ts';
import type { Subject } from '../request/box.ts';
import { probeCapabilities } from './capabilities.ts';
import { deleteOneByOne, deleteTogether, type Deletion, type SentNow } from './delete-persons.ts';
import { afterEarlierDeletions } from './earlier-deletions.ts';
import { doubtEvents } from './events.ts';
import {
  confirm,
  confirmNotBefore,
  eachSubject,
  isDue,
  lastCreatedAt,
  openTarget,
  raise,
  type UpstreamContext,
} from './context.ts';
import { deletesRecordings } from './requested-recordings.ts';
import { lookUpPerson } from './look-up-person.ts';
import { latestOf, planPerson } from './person-plan.ts';

const target = 'upstream.person';

/** Looks up, deletes and confirms every subject's persons, as far as it can go now. A kill at any point is safe. */
export async function advancePersons(context: UpstreamContext, subjects: readonly Subject[]): Promise<void> {
  const { service, signal } = context;
  const { retry, deletions, budget } = context.settings;
  const sent: SentNow = { underWay: new Map(), oneByOne: new Set(), inVain: new Map() };
  const resting = new Set<string>();
  // Each person may have to be sent, found there, and sent again; more is for the next time.
  const roundsMax = 2 * retry.attemptsMax + deletions.confirmations;
  for (let round = 0; round < roundsMax; round += 1) {
    const withEvents = deletedWithEvents(context, subjects);
    const due = subjects.filter(
      (subject) =>
        !resting.has(subject.id) &&
        isDue(context, openTarget(context, subject, target)) &&
        (subject.deleteEvents || !subject.identity.person_uuid.some((uuid) => withEvents.has(uuid))),
    );
    if (due.length === 0) return;
    // The answer of bulk deletion says whether recordings are queued: that is worth it for one person, too.
    const bulkFrom = (await deletesRecordings(context)) ? 1 : 2;
    const isMany = due.length >= bulkFrom && (await probeCapabilities(service, signal)).bulkDelete;
    // Without bulk deletion, a few subjects are looked up and deleted before the next: no look-up is old when it is used.
    const atOnce = isMany ? bulkDeleteIdsMax : budget.concurrency;
    for (let first = 0; first < due.length; first += atOnce) {
      const looked = await eachSubject(context, due.slice(first, first + atOnce), target, (subject) =>
        lookUp(context, subject, sent),
      );
      const planned = together(context, (own) => looked.flatMap((each) => takeStep(own, each, resting)));
      const deletions = await afterEarlierDeletions(context, planned);
      const inOneCall = isMany ? deletions.filter(({ subject }) => !sent.oneByOne.has(subject.id)) : [];
      const isWorthIt = inOneCall.reduce((sum, { living }) => sum + living.length, 0) >= bulkFrom;
      if (isWorthIt) await deleteTogether(context, inOneCall, sent);
      await deleteOneByOne(
        context,
        isWorthIt ? deletions.filter((each) => !inOneCall.includes(each)) : deletions,
        sent,
      );
    }
    for (const [requestId, { times, error }] of sent.inVain)
      if (times >= inVainMax(error, roundsMax)) context.failed.push({ requestId, target, error });
    for (const { requestId } of context.failed) {
      resting.add(requestId);
      sent.inVain.delete(requestId);
    }
  }
}

/**
 * How many deletions of one person may have no effect in a row. A person can be gone by the time that its deletion is sent (404),
 * and the next look-up tells; a person that is shown again, and not found again, is one that the service does not delete.
 */
function inVainMax({ status }: AppError, roundsMax: number): number {
  return status === 404 ? 2 : roundsMax;
}

/** The uuids of the persons that some request deletes with their events. Requests that keep the events wait. */
function deletedWithEvents(context: UpstreamContext, subjects: readonly Subject[]): Set<string> {
  if (subjects.every(({ deleteEvents }) => deleteEvents)) return new Set();
  const going = subjects.filter(
    (subject) => subject.deleteEvents && openTarget(context, subject, target) !== undefined,
  );
  return new Set(going.flatMap(({ identity }) => identity.person_uuid));
}

/** Looks a subject up. Where its person is gone without a trace, its events are doubted. */
async function lookUp(context: UpstreamContext, subject: Subject, sent: SentNow): Promise<Looked> {
  const person = openTarget(context, subject, target);
  const look = await lookUpPerson(context, subject.identity, { isSent: (person?.attempts ?? 0) > 0 });
  if (person && look.isAskedById) {
    // After a restart it is unknown which deletion was under way: it may have been the deletion of any of the persons.
    const underWay = sent.underWay.get(subject.id) ?? subject.identity.person_uuid;
    const gone = underWay.filter((uuid) => !look.living.has(uuid));
    const isUnknown = person.status === 'intended' && gone.length > 0;
    const isUnrecorded = look.living.size === 0 && openTarget(context, subject, 'upstream.events')?.notBefore === null;
    if (subject.deleteEvents && person.attempts > 0 && (isUnknown || isUnrecorded))
      await doubtEvents(context, subject, isUnrecorded ? subject.identity.person_uuid : gone);
  }
  return { subject, look };
}

/** A subject, and how the service has shown its persons. */
type Looked = { subject: Subject; look: Awaited<ReturnType<typeof lookUpPerson>> };

/** Takes the step that follows, except a deletion. Returns the deletion that is to be sent. */
function takeStep(context: UpstreamContext, { subject, look }: Looked, resting: Set<string>): Deletion[] {
  const person = openTarget(context, subject, target);
  if (!person) return [];
  const { person_uuid: uuids } = subject.identity;
  const seenAt = look.living.size > 0 ? isoTime(context.clock.now()) : null;
  if (seenAt !== person.seenAt) note(context, subject, target, { seenAt });
  const limits = {
    attemptsMax: context.settings.retry.attemptsMax,
    confirmations: context.settings.deletions.confirmations,
  };
  const known = { createdAt: lastCreatedAt(context, subject), persons: uuids.length };
  const step = planPerson(person, look, known, limits);
  switch (step.do) {
    case 'delete':
      // A person that is created after these has come back.
      note(context, subject, target, {
        sentCreatedAt: latestOf([known.createdAt, ...step.living.map(({ createdAt }) => createdAt)]),
      });
      return [{ subject, living: step.living }];
    case 'wait':
      note(context, subject, target, { confirmations: 0, notBefore: confirmNotBefore(context) });
      return [];
    case 'confirm':
      confirm(context, subject, person, target);
      return [];
    case 'settle':
      settle(context, [subject], target, { result: step.result, assurance: 'observed' });
      return [];
    case 'call':
      raise(context, subject, target, step.reason);
      note(context, subject, target, { notBefore: confirmNotBefore(context) });
      resting.add(subject.id);
      return [];
    default:
      return assertNever(step);
  }
}
