import { isSingleCase } from '../../client/service.ts';
import { AppError } from '../../core/errors.ts';
import { backoffMs } from '../../core/retry.ts';
import { personParams } from '../../contract/endpoints.ts';
import { bulkDeleteIdsMax } from '../../contract/optional-endpoints.ts';
import { intend, note } from '../request/target-journal.ts';
import { together } from '../request/together.ts';
import type { Subject } from '../request/box.ts';
import { noteAccepted } from './events.ts';
import { eachSubject, openTarget, raiseRefusal, type UpstreamContext } from './context.ts';
import { beginRequest, deletesRecordings, noteRequested, takeRequestBack } from './requested-recordings.ts';
import type { LivingPerson } from './look-up-person.ts';
import { z } from 'zod';
import { transact } from '../../mirror/transact.ts';

const count = z.int().min(0).nullish();

/** An answer of bulk deletion. Services of different age leave out different fields; the oldest answer has no body at all. */
const BulkAnswer = z.object({
  persons_found: count,
  persons_deleted: count,
  /** Those that a task deletes later: all of them, where the service works so. */
  persons_queued_for_deletion: count,
  /** A service that does not delete recordings leaves it out. */
  recordings_queued_for_deletion: z.union([z.boolean(), z.int()]).nullish().catch(null),
  /** One entry for each step that failed: a person may have several. */
  deletion_errors: z.array(z.object({ person_uuid: z.guid() })).nullish(),
  ids_not_found: z.array(z.guid()).nullish(),
});

/** What a bulk deletion did: it took every person but these. Uuids are in lower case. */
export type BulkTaken = {
  /** The service could not delete them. */
  failed: ReadonlySet<string>;
  /** No person has them. */
  notFound: ReadonlySet<string>;
  areRecordingsQueued: boolean;
};

/**
 * Reads the answer to a bulk deletion of `sent` persons. Undefined where it leaves open which deletions were taken: it cannot be
 * read, or the persons that it counts are not found = queued + deleted + failed.
 */
export function readBulkAnswer(body: unknown, sent: number): BulkTaken | undefined {
  const answer = BulkAnswer.safeParse(body ?? {});
  if (!answer.success) return undefined;
  const { persons_found, persons_deleted, persons_queued_for_deletion: queued, ...rest } = answer.data;
  const failed = new Set(rest.deletion_errors?.map(({ person_uuid: uuid }) => uuid.toLowerCase()));
  const notFound = new Set(rest.ids_not_found?.map((uuid) => uuid.toLowerCase()));
  const found = sent - notFound.size;
  const taken = (persons_deleted ?? 0) + (queued ?? 0);
  const isCounted = typeof persons_deleted === 'number' || typeof queued === 'number';
  if ((persons_found ?? found) !== found || (isCounted && taken !== found - failed.size)) return undefined;
  return { failed, notFound, areRecordingsQueued: Number(rest.recordings_queued_for_deletion ?? 0) > 0 };
}

/** A subject, and its persons that are to be deleted; `isAlone`: by a call of their own. */
export type Deletion = Subject & { living: LivingPerson[]; isAlone: boolean };

/** What one run remembers of the deletions that it has sent. */
export type SentNow = {
  /** The persons whose deletion was sent last, by request. */
  underWay: Map<string, string[]>;
  /** The requests for which the service has refused a bulk deletion: each person is deleted by a call of its own. */
  oneByOne: Set<string>;
  /** The requests whose deletions had no effect, in a row: how many, and what the service answered last. */
  inVain: Map<string, { times: number; error: AppError }>;
};

const target = 'upstream.person';

/** The effect of a failed deletion: none, none because the service refuses it, or unknown. */
function effectOf(error: AppError): 'none' | 'refused' | 'unknown' {
  const { code, status = 0 } = error;
  if (code === 'refused' || code === 'quota' || status === 429) return 'none';
  if (status === 404) return error.isForeign ? 'unknown' : 'none';
  if (code === 'rejected' || code === 'usage' || (status >= 300 && status < 400)) return 'refused';
  return 'unknown';
}

/** Deletes each person of each subject by a call of its own. */
export async function deleteOneByOne(
  context: UpstreamContext,
  deletions: readonly Deletion[],
  sent: SentNow,
): Promise<void> {
  await eachSubject(context, deletions, async (deletion) => {
    for (const person of deletion.living) if (!(await deleteOne(context, deletion, person, sent))) return;
  });
}

/** Returns whether the service accepted it. */
async function deleteOne(
  context: UpstreamContext,
  subject: Subject,
  { uuid, ref }: LivingPerson,
  sent: SentNow,
): Promise<boolean> {
  const { service, signal } = context;
  const send = async (withRecordings: boolean) => {
    begin(context, [subject], withRecordings);
    sent.underWay.set(subject.id, [uuid]);
    return await unlessFailed(context, [subject], sent, () =>
      service.call('persons.delete', {
        params: personParams(ref),
        // The client leaves a false flag out: live services read it by its presence.
        query: { delete_events: subject.deleteEvents },
        ...(withRecordings && { extraQuery: { delete_recordings: true } }),
        priority: 'deletion',
        signal,
      }),
    );
  };
  let isWithRecordings = await deletesRecordings(context);
  let reply = await send(isWithRecordings);
  // A service that does not know the parameter may refuse it. It is no reason to keep the person.
  if (isWithRecordings && 'failed' in reply && reply.failed === 'refused') {
    isWithRecordings = false;
    reply = await send(false);
  }
  if ('failed' in reply) {
    if (reply.failed === 'refused') raiseRefusal(context, subject, target);
    return false;
  }
  if (isWithRecordings) noteRequested(context, subject, false);
  noteAccepted(context, subject, { date: reply.date, isWhole: true });
  return true;
}

/** Deletes the persons of many subjects by as few calls as the service allows. */
export async function deleteTogether(
  context: UpstreamContext,
  deletions: readonly Deletion[],
  sent: SentNow,
): Promise<void> {
  for (const deleteEvents of [true, false]) {
    const alike = deletions.filter((each) => each.deleteEvents === deleteEvents);
    for (const batch of batchesOf(alike)) {
      context.signal.throwIfAborted();
      await deleteBatch(context, batch, deleteEvents, sent);
    }
  }
}

function batchesOf(deletions: readonly Deletion[]): Deletion[][] {
  const batches: Deletion[][] = [];
  let left = 0;
  for (const each of deletions) {
    if (each.living.length > left) {
      batches.push([]);
      left = bulkDeleteIdsMax;
    }
    batches.at(-1)?.push(each);
    left -= each.living.length;
  }
  return batches;
}

async function deleteBatch(
  context: UpstreamContext,
  batch: readonly Deletion[],
  deleteEvents: boolean,
  sent: SentNow,
): Promise<void> {
  // Two requests can name one person, whom the answer counts once.
  const ids = [...new Set(batch.flatMap(({ living }) => living.map(({ uuid }) => uuid)))];
  const withRecordings = await deletesRecordings(context);
  begin(context, batch, withRecordings);
  for (const { id, living } of batch)
    sent.underWay.set(
      id,
      living.map(({ uuid }) => uuid),
    );
  const reply = await unlessFailed(context, batch, sent, () =>
    context.service.call('persons.bulk_delete', {
      body: { ids, ...(deleteEvents && { delete_events: true }), ...(withRecordings && { delete_recordings: true }) },
      priority: 'deletion',
      signal: context.signal,
    }),
  );
  if ('failed' in reply) {
    if (reply.failed === 'refused') for (const { id } of batch) sent.oneByOne.add(id);
    return;
  }
  const taken = readBulkAnswer(reply.body, ids.length);
  // As an answer that was lost: the next look-ups tell.
  if (!taken) return;
  transact(context.db, () => {
    const isNobodyFound = taken.notFound.size === ids.length;
    for (const each of batch) noteTaken(context, each, { taken, isNobodyFound, date: reply.date }, sent);
  });
  // Those are sent again, after a pause.
  if (taken.failed.size > 0) await pause(context, batch);
}

/** Notes what an answer says of one subject's persons. */
function noteTaken(
  context: UpstreamContext,
  deletion: Deletion,
  { taken, isNobodyFound, date }: { taken: BulkTaken; isNobodyFound: boolean; date: string | undefined },
  { inVain }: SentNow,
): void {
  const { living } = deletion;
  const missing = living.filter(({ uuid }) => taken.notFound.has(uuid)).length;
  const left = living.filter(({ uuid }) => taken.failed.has(uuid)).length + missing;
  if (!taken.areRecordingsQueued || left === living.length) takeRequestBack(context, deletion);
  else noteRequested(context, deletion, true);
  if (missing === living.length) {
    uncountAttempt(context, deletion, isNobodyFound);
    countInVain(
      inVain,
      deletion,
      new AppError('the service finds no person to delete', { code: 'rejected', status: 404 }),
    );
  } else if (left === living.length) note(context, deletion, target, { status: 'pending' });
  else noteAccepted(context, deletion, { date, isWhole: left === 0 });
}

/** The intents on the ledger, each an attempt, before the call. */
function begin(context: UpstreamContext, subjects: readonly Subject[], withRecordings: boolean): void {
  together(context, (own) => {
    if (withRecordings) beginRequest(own, subjects);
    intend(own, subjects, target);
    for (const subject of subjects) note(own, subject, target, { notBefore: null });
  });
}

/**
 * Takes a first deletion back that found nobody, once it is known to have been in vain: the person is still there, or another request
 * has just deleted it. Else a proxy may have sent it twice, and the answer is the second one.
 */
export function takeBackInVain(
  context: UpstreamContext,
  subject: Subject,
  { underWay, inVain }: SentNow,
  living: ReadonlyMap<string, LivingPerson>,
): void {
  const { id } = subject;
  if (inVain.get(id)?.error.status !== 404 || openTarget(context, subject, target)?.status !== 'intended') return;
  const sent = underWay.get(id) ?? [];
  const isOthers = [...underWay].some(([other, uuids]) => other !== id && uuids.some((uuid) => sent.includes(uuid)));
  if (isOthers || sent.every((uuid) => living.has(uuid))) uncountAttempt(context, subject);
}

/** An attempt without any effect is not counted. A first one that has found nobody may have been sent twice: a look tells. */
function uncountAttempt(context: UpstreamContext, subject: Subject, hasFoundNobody = false): void {
  const attempts = openTarget(context, subject, target)?.attempts ?? 0;
  if (hasFoundNobody && attempts === 1) return;
  note(context, subject, target, { status: 'pending', attempts: Math.max(0, attempts - 1) });
}

/** Makes a deleting call. Without effect, its attempt is taken back; an unknown effect is looked up after a pause. */
async function unlessFailed<T extends object>(
  context: UpstreamContext,
  subjects: readonly Subject[],
  { inVain }: SentNow,
  call: () => Promise<T>,
): Promise<T | { failed: 'none' | 'refused' | 'unknown' }> {
  try {
    const reply = await call();
    for (const { id } of subjects) inVain.delete(id);
    return reply;
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'interrupted') throw error;
    const failed = effectOf(error);
    if (failed === 'unknown') {
      await pause(context, subjects);
      return { failed };
    }
    const takeAllBack = (subject: Subject): void => {
      uncountAttempt(context, subject, error.status === 404 && error.code !== 'refused');
      takeRequestBack(context, subject);
    };
    transact(context.db, () => subjects.forEach(takeAllBack));
    if (error.status === 403 && (await mayChangePersons(context))) return { failed: 'refused' };
    if (error.code !== 'usage' && !isSingleCase(error)) throw error;
    if (failed === 'none') for (const subject of subjects) countInVain(inVain, subject, error);
    return { failed };
  }
}

/** Whether the service refuses a change of nobody as one of nobody: then the key may change persons, and one who is refused is one case. */
async function mayChangePersons({ service, signal }: UpstreamContext): Promise<boolean> {
  const nobody = { params: { id: 0 }, body: { properties: {} }, priority: 'deletion', signal } as const;
  const error: unknown = await service.call('persons.update', nobody).catch((caught: unknown) => caught);
  return error instanceof AppError && error.status === 404 && !error.isForeign;
}

function countInVain(inVain: SentNow['inVain'], { id }: Subject, error: AppError): void {
  inVain.set(id, { times: (inVain.get(id)?.times ?? 0) + 1, error });
}

/** A pause before the same persons are looked up again. */
async function pause(context: UpstreamContext, [first]: readonly Subject[]): Promise<void> {
  const attempts = (first && openTarget(context, first, target)?.attempts) ?? 1;
  await context.clock.sleep(
    backoffMs(attempts, context.settings.retry, () => 1),
    context.signal,
  );
}
