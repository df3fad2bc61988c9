import { controlOf } from '../client/control.ts';
import { isSingleCase } from '../client/service.ts';
import { nobody } from '../contract/identity.ts';
import { turned } from '../core/batches.ts';
import { AppError } from '../core/errors.ts';
import { hasFailedAlone, noteWait, waitReasonOf } from './request/waits.ts';
import type { InTurns, JobContext } from '../job/job-context.ts';
import type { RequestHistory } from '../ledger/request-history.ts';
import type { RequestState } from '../ledger/vocabulary.ts';
import { listRequests, findRequest, needsOperator } from '../mirror/erasure-requests.ts';
import { askForTime } from './ask-service.ts';
import { eraseBucket } from './erase-bucket.ts';
import { eraseCopies } from './erase-copies.ts';
import { eraseHere, type LocalResult } from './erase-here.ts';
import type { FenceResult } from './fence/fence-requests.ts';
import { bringUp } from './fence/restore-guard.ts';
import { finishRequests, type FinishResult } from './finish.ts';
import { leftForLater, planErasure } from './plan.ts';
import { isUpstream } from '../ledger/target.ts';
import { listTargets } from '../mirror/erasure-targets.ts';
import { countTable } from '../mirror/read-rows.ts';
import { findFormerUuids } from '../mirror/sightings.ts';
import { openSubjects, type Subject } from './request/box.ts';
import { reopenWider } from './request/reopen.ts';
import { record, together } from './request/together.ts';
import { newRunMemory, openTarget, type RunMemory, type UpstreamContext } from './upstream/context.ts';
import { advanceEvents } from './upstream/events.ts';
import { advancePersons } from './upstream/persons.ts';
import { advancePlaylists } from './upstream/playlists.ts';
import { advanceRecordings } from './upstream/recordings.ts';

/** What a reconciliation did. Numbers only. */
export type ErasureResult = FenceResult &
  LocalResult &
  FinishResult & {
    /** How many steps the service failed at. They are taken again the next time. */
    upstreamFailed: number;
    /**
     * Open requests that wait for an operator's approval, that need an operator for another reason, that go on by themselves, and
     * deletions at the service that are erased later, together.
     */
    held: number;
    attention: number;
    waiting: number;
    collected: number;
  };

/** The whole way of open erasure requests, by id (`only`): plan, erase here, ask the service (`inTurns`), finish. */
export async function reconcileErasure(
  context: JobContext,
  only: ReadonlySet<string>,
  inTurns: InTurns,
): Promise<ErasureResult> {
  const here = await eraseHere(context, await planErasure(context, only));
  await eraseBucket(context);
  await eraseCopies(context);
  const fail = (error: AppError): never => {
    throw error;
  };
  return { ...here, ...(await askServiceAndFinish(context, inTurns, fail)) };
}

/**
 * Takes every fenced request as far as it can go now at the service (`inTurns`), and ends those that have reached everything. `onEnded`
 * hears the error that ended a stage, since the service failed at too many requests.
 */
export async function askServiceAndFinish(
  context: JobContext,
  inTurns: InTurns,
  onEnded: (error: AppError) => void,
): Promise<Omit<ErasureResult, keyof FenceResult | keyof LocalResult>> {
  const memory = newRunMemory();
  const { failed: upstreamFailed, ended } = await inTurns((part) => askService({ ...context, ...memory, part }));
  if (ended) onEnded(ended);
  const finished = await finishRequests(context);
  const open = listRequests(context.db, 'open');
  const later = leftForLater(context, open);
  const countIn = (...states: RequestState[]): number =>
    open.filter((each) => states.includes(each.state) && each.waitsFor === null && !later.has(each)).length;
  return {
    upstreamFailed,
    ...finished,
    held: open.filter(({ state }) => state === 'held').length,
    attention: open.filter(needsOperator).length,
    waiting: countIn('received', 'scoped', 'executing', 'locally_verified', 'awaiting_upstream'),
    collected: [...later].filter(({ waitsFor }) => waitsFor === null).length,
  };
}

/** Ends what can be ended although a reconciliation failed: identifiers are not kept longer because of a failure. */
export async function finishAfterFailure(context: JobContext, failure: unknown): Promise<void> {
  bringUp(context);
  if (!(failure instanceof AppError) || failure.code !== 'unreachable') await askForTime(context);
  await finishRequests(context);
}

/** Two rounds in one: what was done is added up, and what is open is what the later round found open. */
export function sumOfRounds(first: ErasureResult, second: ErasureResult): ErasureResult {
  const { held, attention, waiting, collected: later } = second;
  const sum = { ...second };
  for (const name of Object.keys(second) as (keyof ErasureResult)[]) sum[name] += first[name];
  return { ...sum, held, attention, waiting, collected: later };
}

/** Takes the service's side of every fenced request as far as it can go now. Returns how many steps failed. */
async function askService(
  context: JobContext & RunMemory & Pick<UpstreamContext, 'part'>,
): Promise<{ failed: number; ended: AppError | null }> {
  const { db, service } = context;
  const subjects = await openSubjects(
    context,
    ({ id, fencedAt }) =>
      fencedAt !== null && listTargets(db, id).some(({ target, status }) => isUpstream(target) && status !== 'done'),
  );
  if (subjects.length === 0) return { failed: 0, ended: null };
  if (service === null) {
    together(context, (own) => subjects.forEach(({ id }) => noteWait(own, id, 'no_service')));
    return { failed: 0, ended: null };
  }
  const { histories } = context.ledger();
  const withEarlier = subjects.map((subject) => ({ ...subject, ...earlierEnd(histories.of(subject.id)) }));
  // Whom the service failed at is asked for last, so that the others come first.
  const last = new Set(listRequests(db, 'open').flatMap((request) => (hasFailedAlone(request) ? request.id : [])));
  const again = withEarlier.filter(({ id }) => last.has(id));
  const inOrder = [...withEarlier.filter(({ id }) => !last.has(id)), ...turned(again, context.clock.now())];
  const { awaiting, failed, wider, ended } = await advanceUpstream({ ...context, service }, inOrder).catch(
    (error: unknown) => {
      if (error instanceof AppError && error.code !== 'interrupted')
        together(context, (own) => subjects.forEach(({ id }) => noteWait(own, id, waitReasonOf(error))));
      throw error;
    },
  );
  const errors = new Map(failed.map(({ requestId, error }) => [requestId, error]));
  together(context, (own) => {
    for (const { id } of subjects)
      if (errors.has(id)) noteWait(own, id, waitReasonOf(errors.get(id)));
      else if (ended === null || !last.has(id)) noteWait(own, id, null);
    for (const { requestId, eventsExpectedBy } of awaiting) {
      const request = findRequest(db, requestId);
      if (!request || request.eventsExpectedBy === eventsExpectedBy) continue;
      const { generation } = request;
      record(own, { type: 'awaiting_upstream', request: requestId, generation, events_expected_by: eventsExpectedBy });
    }
    for (const { requestId, distinctIds } of wider)
      reopenWider(own, requestId, { ...nobody, distinct_id: distinctIds });
    // A merge can be recognised after the fence has risen. Whom an operator has called somebody else stays somebody else.
    for (const { id, identity, sharedWith = [] } of subjects) {
      const former = findFormerUuids(db, identity.person_uuid).filter((uuid) => !sharedWith.includes(uuid));
      if (former.length > 0) reopenWider(own, id, { ...nobody, person_uuid: former });
    }
  });
  return { failed: failed.length, ended };
}

/** When the service no longer had the person, by the ledger: a restored file does not delete who has come back since. */
function earlierEnd(history: RequestHistory | undefined): { goneAt?: string } {
  const ended = history?.targets.get('upstream.person');
  const isGone = ended?.result === 'deleted' || ended?.result === 'already_absent';
  return isGone && history?.reopened?.reason === 'restored' ? { goneAt: ended.endedAt } : {};
}

/** How the service's side of the requests stands. */
export type UpstreamReport = Pick<UpstreamContext, 'failed' | 'wider'> & {
  /** Requests whose events wait for the service's batch, and by when it should have run. */
  awaiting: { requestId: string; eventsExpectedBy: string }[];
  /** The error that ended a stage early, since the service failed at too many requests; null where all went to their end. */
  ended: AppError | null;
};

/**
 * Takes the upstream targets of all subjects as far as they can go now. Every step is on the ledger before its effect,
 * so that it may end anywhere and be called again. Throws where no other call can do better (a refused key or project,
 * no connection, a ledger that cannot be written), after all calls that had begun have ended.
 */
export async function advanceUpstream(
  job: Omit<UpstreamContext, 'failed' | 'wider' | 'control'>,
  subjects: readonly Subject[],
): Promise<UpstreamReport> {
  const context: UpstreamContext = {
    ...job,
    failed: [],
    wider: [],
    // Lists of recordings end where the service's own time for them does.
    control: controlOf({ ...job, areKnown: (dataset) => dataset === 'persons' && countTable(job.db, 'persons') > 0 }),
  };
  let ended: AppError | null = null;
  for (const advance of [advancePersons, advanceEvents, advancePlaylists, advanceRecordings])
    await advance(context, subjects).catch((error: unknown) => {
      if (!isSingleCase(error)) throw error;
      ended ??= error;
    });
  return {
    ended,
    awaiting: subjects.flatMap((subject) => {
      const events = openTarget(context, subject, 'upstream.events');
      const waits = events?.status === 'waiting' || events?.reason === 'events_queued_before';
      if (!events || !waits || events.notBefore === null) return [];
      return [{ requestId: subject.id, eventsExpectedBy: events.notBefore }];
    }),
    failed: context.failed,
    wider: context.wider,
  };
}
