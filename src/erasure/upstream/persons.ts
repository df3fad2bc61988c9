import { isoTime } from '../../core/clock.ts';
import { assertNever } from '../../core/errors.ts';
import { bulkDeleteIdsMax } from '../../contract/optional-endpoints.ts';
import { note, settle } from '../request/target-journal.ts';
import { deleteOneByOne, deleteTogether, type Doomed, type SentNow } from './delete-persons.ts';
import { doubtEvents } from './events.ts';
import {
  confirm,
  confirmNotBefore,
  eachSubject,
  isDue,
  lastCreatedAt,
  openTarget,
  raise,
  type Lane,
  type UpstreamSubject,
} from './context.ts';
import { lookUpPerson } from './look-up-person.ts';
import { latestOf, planPerson } from './person-plan.ts';

const target = 'upstream.person';

/**
 * Takes every subject's persons as far as they can go now: looked up, deleted, and confirmed to be gone. May end
 * anywhere and be called again: an intent without a result is looked into before anything is sent.
 */
export async function advancePersons(lane: Lane, subjects: readonly UpstreamSubject[]): Promise<void> {
  const { retry, deletions, budget } = lane.settings;
  const sent: SentNow = { underWay: new Map(), alone: new Set() };
  const resting = new Set<string>();
  // Each person may have to be sent, found there, and sent again; more is for the next time.
  const roundsMax = 2 * retry.attemptsMax + deletions.confirmations;
  for (let round = 0; round < roundsMax; round += 1) {
    const goWithEvents = toGoWithEvents(lane, subjects);
    const due = subjects.filter(
      (subject) =>
        !resting.has(subject.id) &&
        isDue(lane, openTarget(lane, subject, target)) &&
        (subject.deleteEvents || !subject.identity.person_uuid.some((uuid) => goWithEvents.has(uuid))),
    );
    if (due.length === 0) return;
    const isMany = due.length > 1 && (await lane.capabilities()).bulkDelete;
    // One by one, whoever was looked up is deleted before the next are: what was seen is then never old.
    const atOnce = isMany ? bulkDeleteIdsMax : budget.concurrency;
    for (let first = 0; first < due.length; first += atOnce) {
      const looked = await eachSubject(lane, due.slice(first, first + atOnce), target, (subject) =>
        advanceLooked(lane, subject, { sent, resting }),
      );
      const doomed = looked.flat();
      const together = isMany ? doomed.filter(({ subject }) => !sent.alone.has(subject.id)) : [];
      const isWorthIt = together.reduce((sum, { living }) => sum + living.length, 0) > 1;
      if (isWorthIt) await deleteTogether(lane, together, sent);
      await deleteOneByOne(
        lane,
        isWorthIt ? doomed.filter((each) => !together.includes(each)) : doomed,
        sent,
      );
    }
    for (const { requestId } of lane.failed) resting.add(requestId);
  }
}

/**
 * The persons whom some request deletes together with their events, by uuid. Another that keeps them has to let it go
 * first: the events of a person who is gone can no longer be deleted.
 */
function toGoWithEvents(lane: Lane, subjects: readonly UpstreamSubject[]): Set<string> {
  if (subjects.every(({ deleteEvents }) => deleteEvents)) return new Set();
  const going = subjects.filter(
    (subject) => subject.deleteEvents && openTarget(lane, subject, target) !== undefined,
  );
  return new Set(going.flatMap(({ identity }) => identity.person_uuid));
}

/** Looks a subject up and does what that calls for, but for deleting it. Returns who is to be deleted. */
async function advanceLooked(
  lane: Lane,
  subject: UpstreamSubject,
  { sent, resting }: { sent: SentNow; resting: Set<string> },
): Promise<Doomed[]> {
  const look = await lookUpPerson(lane, subject.identity);
  const person = openTarget(lane, subject, target);
  if (!person) return [];
  const { person_uuid: uuids } = subject.identity;
  const seenAt = look.living.size > 0 ? isoTime(lane.clock.now()) : null;
  if (seenAt !== person.seenAt) note(lane, subject, target, { seenAt });
  if (look.isTold) {
    // After a restart nobody knows whose deletion was under way: then it may have been anybody's.
    const underWay = sent.underWay.get(subject.id) ?? uuids;
    const gone = underWay.filter((uuid) => !look.living.has(uuid));
    const isUnknown = person.status === 'intended' && gone.length > 0;
    const isUntold =
      look.living.size === 0 && openTarget(lane, subject, 'upstream.events')?.status === 'pending';
    if (subject.deleteEvents && person.attempts > 0 && (isUnknown || isUntold))
      await doubtEvents(lane, subject);
  }
  const limits = {
    attemptsMax: lane.settings.retry.attemptsMax,
    confirmations: lane.settings.deletions.confirmations,
  };
  const known = { createdAt: lastCreatedAt(lane, subject), persons: uuids.length };
  const step = planPerson(person, look, known, limits);
  switch (step.do) {
    case 'delete':
      // Whoever is created after these has come back.
      note(lane, subject, target, {
        sentCreatedAt: latestOf([known.createdAt, ...step.living.map(({ createdAt }) => createdAt)]),
      });
      return [{ subject, living: step.living }];
    case 'wait':
      note(lane, subject, target, { confirmations: 0, notBefore: confirmNotBefore(lane) });
      return [];
    case 'confirm':
      confirm(lane, subject, person, target);
      return [];
    case 'settle':
      settle(lane, [subject], target, { result: step.result, assurance: 'observed' });
      return [];
    case 'call':
      raise(lane, subject, target, step.reason);
      note(lane, subject, target, { notBefore: confirmNotBefore(lane) });
      resting.add(subject.id);
      return [];
    default:
      return assertNever(step);
  }
}
