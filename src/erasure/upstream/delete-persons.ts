import { z } from 'zod';
import { AppError } from '../../core/errors.ts';
import { backoffMs } from '../../core/retry.ts';
import { bulkDeleteIdsMax } from '../../contract/optional-endpoints.ts';
import { intend, note } from '../request/target-journal.ts';
import { noteAccepted } from './accepted.ts';
import { eachSubject, openTarget, raiseRefusal, type Lane, type UpstreamSubject } from './context.ts';
import type { LivingPerson } from './look-up-person.ts';
import { personParams } from '../../contract/endpoints.ts';

/** A subject, and who of it is to be deleted. */
export type Doomed = { subject: UpstreamSubject; living: LivingPerson[] };

/** What is remembered of deletions for as long as they are worked at. */
export type SentNow = {
  /** Whose deletion was sent last, of each subject. */
  underWay: Map<string, string[]>;
  /** Subjects that deleting among many has failed for. */
  alone: Set<string>;
};

const target = 'upstream.person';

/** What a failed deletion has done: nothing, nothing and never will, or nobody knows. */
function effectOf(error: AppError): 'none' | 'refused' | 'unknown' {
  const { code, status = 0 } = error;
  if (code === 'refused' || status === 429 || status === 404) return 'none';
  if (code === 'rejected' || code === 'usage' || (status >= 300 && status < 400)) return 'refused';
  return 'unknown';
}

/** Deletes each person of each subject by a call of its own. */
export async function deleteOneByOne(lane: Lane, doomed: readonly Doomed[], sent: SentNow): Promise<void> {
  const byId = new Map(doomed.map((each) => [each.subject.id, each.living]));
  const subjects = doomed.map(({ subject }) => subject);
  await eachSubject(lane, subjects, target, async (subject) => {
    for (const person of byId.get(subject.id) ?? [])
      if (!(await deleteOne(lane, subject, person, sent))) return;
  });
}

/** Returns whether the service accepted it. */
async function deleteOne(
  lane: Lane,
  subject: UpstreamSubject,
  { uuid, ref }: LivingPerson,
  sent: SentNow,
): Promise<boolean> {
  const { service, signal } = lane;
  begin(lane, [subject]);
  sent.underWay.set(subject.id, [uuid]);
  const reply = await unlessFailed(lane, [subject], () =>
    service.call('persons.delete', {
      params: personParams(ref),
      // The client leaves a false flag out: live services read it by its presence.
      query: { delete_events: subject.deleteEvents },
      priority: 'deletion',
      signal,
    }),
  );
  if ('failed' in reply) {
    if (reply.failed === 'refused') raiseRefusal(lane, subject, target);
    return false;
  }
  noteAccepted(lane, subject, { date: reply.date, isWhole: true });
  return true;
}

/** Deletes the persons of many subjects by as few calls as the service allows. */
export async function deleteTogether(lane: Lane, doomed: readonly Doomed[], sent: SentNow): Promise<void> {
  for (const deleteEvents of [true, false]) {
    const alike = doomed.filter(({ subject }) => subject.deleteEvents === deleteEvents);
    for (const batch of batchesOf(alike)) {
      lane.signal.throwIfAborted();
      await deleteBatch(lane, batch, deleteEvents, sent);
    }
  }
}

function batchesOf(doomed: readonly Doomed[]): Doomed[][] {
  const batches: Doomed[][] = [];
  let left = 0;
  for (const each of doomed) {
    if (each.living.length > left) {
      batches.push([]);
      left = bulkDeleteIdsMax;
    }
    batches.at(-1)?.push(each);
    left -= each.living.length;
  }
  return batches;
}

const BulkResult = z.object({
  persons_deleted: z.int().optional(),
  deletion_errors: z.array(z.object({ person_uuid: z.guid() })).default([]),
});

async function deleteBatch(
  lane: Lane,
  batch: readonly Doomed[],
  deleteEvents: boolean,
  sent: SentNow,
): Promise<void> {
  const subjects = batch.map(({ subject }) => subject);
  const ids = batch.flatMap(({ living }) => living.map(({ uuid }) => uuid));
  begin(lane, subjects);
  for (const { subject, living } of batch)
    sent.underWay.set(
      subject.id,
      living.map(({ uuid }) => uuid),
    );
  const reply = await unlessFailed(lane, subjects, () =>
    lane.service.call('persons.bulk_delete', {
      body: { ids, ...(deleteEvents && { delete_events: true }) },
      priority: 'deletion',
      signal: lane.signal,
    }),
  );
  const goAlone = (each: Doomed): unknown => sent.alone.add(each.subject.id);
  if ('failed' in reply) {
    if (reply.failed !== 'none') batch.forEach(goAlone);
    return;
  }
  const result = BulkResult.safeParse(reply.body ?? {});
  // One that it did not find, or an answer that cannot be read, leaves open whose deletion was taken.
  if (!result.success) return batch.forEach(goAlone);
  const errors = new Set(result.data.deletion_errors.map(({ person_uuid: uuid }) => uuid.toLowerCase()));
  const { persons_deleted: deleted = ids.length - errors.size } = result.data;
  if (deleted !== ids.length - errors.size) return batch.forEach(goAlone);
  lane.db
    .transaction(() => {
      for (const each of batch) {
        const { subject, living } = each;
        const left = living.filter(({ uuid }) => errors.has(uuid));
        if (left.length > 0) goAlone(each);
        if (left.length === living.length) takeBack(lane, subject);
        else noteAccepted(lane, subject, { date: reply.date, isWhole: left.length === 0 });
      }
    })
    .immediate();
}

/** The intent on the ledger, then the attempt in the mirror, then the call. */
function begin(lane: Lane, subjects: readonly UpstreamSubject[]): void {
  intend(lane, subjects, target);
  lane.db
    .transaction(() => {
      for (const subject of subjects)
        note(lane, subject, target, { attempts: (openTarget(lane, subject, target)?.attempts ?? 0) + 1 });
    })
    .immediate();
}

/** An attempt that has done nothing counts for none. */
function takeBack(lane: Lane, subject: UpstreamSubject): void {
  const attempts = openTarget(lane, subject, target)?.attempts ?? 0;
  note(lane, subject, target, { status: 'pending', attempts: Math.max(0, attempts - 1) });
}

/**
 * Makes a call that deletes. One that has done nothing is taken back; one of which nobody knows stays intended, and is
 * looked into after a pause. Throws what says that no other call will do better.
 */
async function unlessFailed<T extends object>(
  lane: Lane,
  subjects: readonly UpstreamSubject[],
  call: () => Promise<T>,
): Promise<T | { failed: 'none' | 'refused' | 'unknown' }> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'interrupted') throw error;
    const failed = effectOf(error);
    if (failed === 'unknown') {
      const [first] = subjects;
      const attempts = (first && openTarget(lane, first, target)?.attempts) ?? 1;
      await lane.clock.sleep(
        backoffMs(attempts, lane.settings.retry, () => 1),
        lane.signal,
      );
      return { failed };
    }
    lane.db.transaction(() => subjects.forEach((subject) => takeBack(lane, subject))).immediate();
    if (error.code === 'refused') throw error;
    return { failed };
  }
}
