import { AppError } from '../../core/errors.ts';
import { isoToMicros } from '../../core/time.ts';
import { DeletionStatus } from '../../contract/optional-endpoints.ts';
import { listTargets } from '../../mirror/erasure-targets.ts';
import { note, settle } from '../request/target-journal.ts';
import {
  eachSubject,
  inBatches,
  lastCreatedAt,
  openTarget,
  raise,
  type Lane,
  type UpstreamSubject,
} from './context.ts';
import { eventsExpectedBy, overdueAtMs } from './service-time.ts';

const target = 'upstream.events';

/** How often the service is asked how far a deletion is. */
const askAgainAfterMs = 3_600_000;

/** Takes the deletion of every subject's events as far as it can be told. Nothing is deleted here. */
export async function advanceEvents(lane: Lane, subjects: readonly UpstreamSubject[]): Promise<void> {
  const open = subjects.filter((subject) => openTarget(lane, subject, target));
  await eachSubject(lane, open, target, (subject) => advance(lane, subject));
}

async function advance(lane: Lane, subject: UpstreamSubject): Promise<void> {
  const events = openTarget(lane, subject, target);
  if (!events) return;
  if (!subject.deleteEvents) {
    settle(lane, [subject], target, { result: 'kept', assurance: 'observed' });
    return;
  }
  const person = listTargets(lane.db, subject.id).find((each) => each.target === 'upstream.person');
  if (person?.result === 'already_absent') {
    // Whoever deleted the person may have kept its events, and a person that is gone cannot be deleted with them.
    settle(lane, [subject], target, { result: 'not_verifiable', assurance: 'not_verifiable' });
    return;
  }
  const nowMs = lane.clock.now();
  if (events.status === 'pending') return;
  if (events.status === 'waiting' && nowMs < Date.parse(events.notBefore ?? '')) return;
  if (!(await lane.capabilities()).deletionStatus) {
    if (events.status === 'waiting')
      settle(lane, [subject], target, { result: 'not_verifiable', assurance: 'not_verifiable' });
    return;
  }
  if (events.attempts > 0 && nowMs - Date.parse(events.updatedAt) < askAgainAfterMs) return;
  const queued = await queuedDeletions(lane, subject);
  if (queued.length === 0) raise(lane, subject, target, 'events_unconfirmed');
  else if (queued.every(({ isCompleted }) => isCompleted)) {
    settle(lane, [subject], target, { result: 'confirmed', assurance: 'asserted_by_upstream' });
    return;
  } else if (events.reason === 'events_unconfirmed') noteFound(lane, subject, queued);
  else if (nowMs >= overdueAtMs(events.notBefore ?? '')) raise(lane, subject, target, 'events_overdue');
  note(lane, subject, target, { attempts: events.attempts + 1 });
}

/**
 * Nobody knows whether the deletion of a subject's events was queued: the person is gone, and no answer said that it was
 * accepted. Where the service tells of its queue, that decides; else somebody has to look.
 */
export async function doubtEvents(lane: Lane, subject: UpstreamSubject): Promise<void> {
  const events = openTarget(lane, subject, target);
  if (!events || events.status === 'attention') return;
  const queued = (await lane.capabilities()).deletionStatus ? await queuedDeletions(lane, subject) : [];
  if (queued.length === 0) raise(lane, subject, target, 'events_unconfirmed');
  else noteFound(lane, subject, queued);
}

/** A deletion of events that the service has queued. */
type QueuedDeletion = { queuedAtMs: number; isCompleted: boolean };

function noteFound(lane: Lane, subject: UpstreamSubject, queued: readonly QueuedDeletion[]): void {
  const queuedAtMs = Math.max(...queued.map((each) => each.queuedAtMs));
  note(lane, subject, target, {
    status: 'waiting',
    reason: null,
    notBefore: eventsExpectedBy(queuedAtMs),
  });
}

/** What the service has queued for the persons of a subject since they were created: of an earlier life, nothing. */
async function queuedDeletions(lane: Lane, subject: UpstreamSubject): Promise<QueuedDeletion[]> {
  const { service, signal } = lane;
  const sinceMicros = isoToMicros(lastCreatedAt(lane, subject) ?? '') ?? 0n;
  const answers = await inBatches(lane, subject.identity.person_uuid, async (uuid) => {
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
