import type { JobContext } from '../job/job-context.ts';
import { isUpstream } from '../ledger/target.ts';
import { findRequest } from '../mirror/erasure-requests.ts';
import { listTargets } from '../mirror/erasure-targets.ts';
import { openSubjects, type Subject } from './request/box.ts';
import { updateRequest } from './request/request-state.ts';
import { openTarget, type FailedStep, type UpstreamContext } from './upstream/context.ts';
import { advanceEvents } from './upstream/events.ts';
import { advancePersons } from './upstream/persons.ts';
import { advancePlaylists, advanceRecordings } from './upstream/recordings.ts';

/** Takes the service's side of every fenced request as far as it can go now. Returns how many steps failed. */
export async function askService(context: JobContext): Promise<number> {
  const { db, service, ledger } = context;
  if (service === null) return 0;
  const subjects = openSubjects(
    context,
    ({ id, fencedAt }) =>
      fencedAt !== null && listTargets(db, id).some(({ target, status }) => isUpstream(target) && status !== 'done'),
  );
  if (subjects.length === 0) return 0;
  const { awaiting, failed } = await advanceUpstream({ ...context, service }, subjects);
  for (const { requestId, eventsExpectedBy } of awaiting) {
    const request = findRequest(db, requestId);
    if (!request || request.eventsExpectedBy === eventsExpectedBy) continue;
    const { generation } = request;
    ledger().append([
      { type: 'awaiting_upstream', request: requestId, generation, events_expected_by: eventsExpectedBy },
    ]);
    db.transaction(() => updateRequest(db, requestId, { eventsExpectedBy })).immediate();
  }
  return failed.length;
}

/** How the service's side of the requests stands. */
export type UpstreamReport = {
  /** Requests whose events wait for the service's batch, and by when it should have run. */
  awaiting: { requestId: string; eventsExpectedBy: string }[];
  /** Steps at which the service failed; their targets are taken up again the next time. */
  failed: FailedStep[];
};

/**
 * Takes the upstream targets of all subjects as far as they can go now. Every step is on the ledger before its effect,
 * so that it may end anywhere and be called again. Throws where no other call can do better (a refused key or project,
 * no connection, a ledger that cannot be written), after all calls that had begun have ended.
 */
export async function advanceUpstream(
  job: Omit<UpstreamContext, 'paths' | 'failed'>,
  subjects: readonly Subject[],
): Promise<UpstreamReport> {
  const context: UpstreamContext = { ...job, paths: { takeUuids: true }, failed: [] };
  await advancePersons(context, subjects);
  await advanceEvents(context, subjects);
  await advancePlaylists(context, subjects);
  await advanceRecordings(context, subjects);
  return {
    awaiting: subjects.flatMap((subject) => {
      const events = openTarget(context, subject, 'upstream.events');
      if (events?.status !== 'waiting' || events.notBefore === null) return [];
      return [{ requestId: subject.id, eventsExpectedBy: events.notBefore }];
    }),
    failed: context.failed,
  };
}
