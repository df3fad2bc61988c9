import { turned } from '../../core/batches.ts';
import { isoTime } from '../../core/clock.ts';
import { assertNever, type AppError } from '../../core/errors.ts';
import { isSingleCase, singleCasesMax } from '../../client/service.ts';
import { bulkDeleteIdsMax } from '../../contract/optional-endpoints.ts';
import { nobody } from '../../contract/identity.ts';
import { updateRequest } from '../../mirror/erasure-requests.ts';
import { noteHolders } from '../../mirror/request-box.ts';
import { findPersons } from '../../mirror/sightings.ts';
import { transact } from '../../mirror/transact.ts';
import { note, settle, type RequestRef } from '../request/target-journal.ts';
import { together } from '../request/together.ts';
import { boxOf, closeBox, holdersOf, type BoxContext, type Subject } from '../request/box.ts';
import { probeCapabilities } from './capabilities.ts';
import { deleteOneByOne, deleteTogether, takeBackInVain, type Deletion, type SentNow } from './delete-persons.ts';
import { afterEarlierDeletions } from './earlier-deletions.ts';
import { doubtEvents } from './events.ts';
import {
  confirm,
  confirmPause,
  eachSubject,
  isDue,
  openTarget,
  raise,
  waitOf,
  type UpstreamContext,
} from './context.ts';
import { askForMany, lookUpPerson, type ToldOfMany } from './look-up-person.ts';
import { isLater, latestOf, planPerson, type PersonStep } from './person-plan.ts';

const target = 'upstream.person';

/**
 * The time in which a service makes a deletion that it has queued, or gives it up without a word. PostHog's task tries four times
 * (`posthog/tasks/delete_persons.py`, September 2026): it waits at most 1, 2 and 4 minutes between. The rest is for its runs.
 */
const queuedDeletionMs = 10 * 60_000;

/** Until a queued deletion is over: a person who is still shown then is sent again. Never before a confirmation is due. */
function queuePause(context: UpstreamContext): ReturnType<typeof waitOf> {
  return waitOf(context, {
    lastsMs: Math.max(queuedDeletionMs, context.settings.deletions.confirmAfterSeconds * 1000),
  });
}

/** Looks up, deletes and confirms every subject's persons, as far as it can go now. A kill at any point is safe. */
export async function advancePersons(context: UpstreamContext, subjects: readonly Subject[]): Promise<void> {
  const { service, signal } = context;
  const { retry, deletions, budget } = context.settings;
  const sent: SentNow = { underWay: new Map(), oneByOne: new Set(), inVain: new Map() };
  const resting = new Set<string>();
  const going = new Set(
    subjects.flatMap((each) => (openTarget(context, each, target) ? each.identity.person_uuid : [])),
  );
  // Each person may have to be sent, found there, and sent again; more is for the next time.
  const roundsMax = 2 * retry.attemptsMax + deletions.confirmations;
  for (let round = 0; round < roundsMax; round += 1) {
    const withEvents = deletedWithEvents(context, subjects);
    // Where so many can fail that the run ends, each run begins at another.
    const due = turned(subjects, subjects.length < singleCasesMax ? 0 : context.clock.now()).filter(
      (subject) =>
        !resting.has(subject.id) &&
        isDue(context, openTarget(context, subject, target)) &&
        (subject.deleteEvents || !subject.identity.person_uuid.some((uuid) => withEvents.has(uuid))),
    );
    if (due.length === 0) return;
    // Where the service has bulk deletion, it is the way for one person, too: the call for one is deprecated there.
    const { bulkDelete } = await probeCapabilities(service, signal);
    // Without it, a few subjects are looked up and deleted before the next: no look-up is old when it is used.
    const atOnce = bulkDelete ? bulkDeleteIdsMax : budget.concurrency;
    for (let first = 0; first < due.length; first += atOnce) {
      const part = due.slice(first, first + atOnce);
      const told = await askForMany(context, part, (subject) => isSent(context, subject));
      const looked: Looked[] = [];
      const look = async (subject: Subject) => looked.push(await lookUp(context, subject, sent, told));
      // Too many at whom the service fails end the run, but keep nobody whom it has told of: they are as many in the next run.
      const ended = await eachSubject(context, part, look).then(
        () => null,
        (error: unknown) => {
          if (!isSingleCase(error)) throw error;
          return error;
        },
      );
      const planned = together(context, (own) =>
        looked.flatMap((each) => takeStep(own, each, { resting, going, queues: bulkDelete })),
      );
      const deletions = await afterEarlierDeletions(context, planned);
      const isAlone = (each: Deletion): boolean => !bulkDelete || each.isAlone || sent.oneByOne.has(each.id);
      await deleteTogether(
        context,
        deletions.filter((each) => !isAlone(each)),
        sent,
      );
      await deleteOneByOne(context, deletions.filter(isAlone), sent);
      if (ended) throw ended;
    }
    for (const [requestId, { times, error }] of sent.inVain)
      if (times >= inVainMax(error, roundsMax)) context.failed.push({ requestId, error });
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
async function lookUp(context: UpstreamContext, subject: Subject, sent: SentNow, told: ToldOfMany): Promise<Looked> {
  const look = await lookUpPerson(context, subject.identity, { isSent: isSent(context, subject), told });
  takeBackInVain(context, subject, sent, look.living);
  const person = openTarget(context, subject, target);
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

/** Whether the deletion of a request's persons was sent. */
function isSent(context: Pick<UpstreamContext, 'db'>, subject: RequestRef): boolean {
  return (openTarget(context, subject, target)?.attempts ?? 0) > 0;
}

/** A subject, and how the service has shown its persons. */
type Looked = { subject: Subject; look: Awaited<ReturnType<typeof lookUpPerson>> };

/** Whether somebody is there whom the service created after it had the person no more: who came back stays. */
function hasComeBack({ goneAt }: Subject, { living }: Looked['look']): boolean {
  return goneAt !== undefined && [...living.values()].some(({ createdAt }) => isLater(createdAt, goneAt));
}

/**
 * The distinct ids that the service shows a subject's living persons with, and had not shown when it was searched for. None of those that
 * the mirror has of persons to whom an operator has left others.
 */
function learnedIds({ db }: UpstreamContext, { identity, shown = [], sharedWith = [] }: Subject, look: Looked['look']) {
  const left = findPersons(db, { ...nobody, person_uuid: sharedWith });
  const known = new Set([...identity.distinct_id, ...[...shown, ...left].flatMap(({ distinct_ids: ids }) => ids)]);
  return [...look.shown].filter((distinctId) => !known.has(distinctId));
}

/** Takes the step that follows, except a deletion. Returns the deletion that is to be sent. */
function takeStep(
  context: UpstreamContext,
  { subject, look }: Looked,
  { resting, going, queues }: { resting: Set<string>; going: ReadonlySet<string>; queues: boolean },
): Deletion[] {
  const person = openTarget(context, subject, target);
  // The service may have told its time only with this answer.
  if (!person || !isDue(context, person)) return [];
  const { length: persons } = subject.identity.person_uuid;
  const seenAt = look.living.size > 0 ? isoTime(context.clock.now()) : null;
  if (seenAt !== person.seenAt) note(context, subject, target, { seenAt });
  const learned = person.attempts === 0 ? learnedIds(context, subject, look) : [];
  if (learned.length > 0) {
    context.wider.push({ requestId: subject.id, distinctIds: learned });
    resting.add(subject.id);
    return [];
  }
  const limits = {
    attemptsMax: context.settings.retry.attemptsMax,
    confirmations: context.settings.deletions.confirmations,
    queues,
  };
  const known = {
    createdAt: person.sentCreatedAt ?? subject.createdAt,
    persons,
    sharedWith: subject.sharedWith ?? [],
    going,
  };
  const step: PersonStep = hasComeBack(subject, look)
    ? { do: 'call', reason: 'recreated' }
    : planPerson(person, look, known, limits);
  const because = step.do === 'call' ? (step.holders ?? []) : [];
  noteHolders(
    context.db,
    subject.id,
    look.holders.filter(({ uuid }) => because.includes(uuid)),
  );
  switch (step.do) {
    case 'delete':
      // A person that is created after these has come back. What was gone before, and is there again, is not confirmed.
      note(context, subject, target, {
        confirmations: 0,
        sentCreatedAt: latestOf([known.createdAt, ...step.living.map(({ createdAt }) => createdAt)]),
      });
      // It was not taken in the company of others, and not once more: one of them may be why.
      return [{ ...subject, living: step.living, isAlone: person.attempts > 1 && person.status !== 'waiting' }];
    case 'wait':
      note(context, subject, target, { confirmations: 0, ...(queues ? queuePause(context) : confirmPause(context)) });
      return [];
    case 'confirm':
      confirm(context, subject, person);
      return [];
    case 'settle':
      settle(context, [subject], target, { result: step.result, assurance: 'observed' });
      return [];
    case 'call':
      raise(context, subject, target, step.reason);
      note(context, subject, target, confirmPause(context));
      resting.add(subject.id);
      return [];
    default:
      return assertNever(step);
  }
}

/**
 * Leaves the distinct ids of a request's person that other persons have at the service to those that were shown, and to nobody
 * else: an operator has decided that they are other people. The person's deletion goes on.
 */
export function leaveToHolders(context: Parameters<typeof note>[0] & BoxContext, request: RequestRef): void {
  const { db } = context;
  const box = boxOf(context, request.id);
  if (!box) throw new Error('an open request without its box');
  const sharedWith = [...new Set([...(box.sharedWith ?? []), ...holdersOf(context, request.id).keys()])];
  transact(db, () => {
    noteHolders(db, request.id, []);
    const status = isSent(context, request) ? 'waiting' : 'pending';
    note(context, request, target, { status, reason: null, notBefore: null });
    updateRequest(db, request.id, { box: closeBox(context, request.id, { ...box, sharedWith }) });
  });
}
