import { AppError } from '../../core/errors.ts';
import { isJsonObject } from '../../core/exact-json.ts';
import { bodyOrMissing } from '../../client/service.ts';
import { recordingBulkDeleteIdsMax } from '../../contract/optional-endpoints.ts';
import { findRequest } from '../../mirror/erasure-requests.ts';
import type { Subject } from '../request/box.ts';
import { intend, note } from '../request/target-journal.ts';
import { inBatches, openTarget, unlessThrottled, type RecordingDeletion, type UpstreamContext } from './context.ts';

const target = 'upstream.recordings';

/** The places of a subject's recordings among a run's answers: others once an operator has left ids to others, or a pass has listed the person again. */
export function placesOf(
  { db }: Pick<UpstreamContext, 'db'>,
  { id, generation, sharedWith = [] }: Subject,
): (recording: string) => string {
  // There can be a million recordings: the request is read once.
  const about = `${id} ${generation} ${sharedWith.length} ${findRequest(db, id)?.listedAgainPass}`;
  return (recording) => `${about} ${recording}`;
}

/**
 * Deletes recordings of a subject by their ids, as far as key and service can. Ends early where the first ones are all refused.
 * The intent is on the ledger, and the mirror knows how many are about to be sent, before each call. A kill at any point is safe:
 * a recording that is gone is not found to be deleted again. Where others want the data folder, throws between two calls. Returns what
 * became of those that were sent.
 */
export async function deleteRecordings(
  context: UpstreamContext,
  subject: Subject,
  ids: readonly string[],
): Promise<RecordingDeletion[]> {
  const { recordingCalls: calls, settings } = context;
  const isMissing = (): boolean => calls.isMissing;
  if (isMissing()) return ['service'];
  intend(context, [subject], target);
  // Those that were sent before and are still there are counted when they are sent again.
  const gone = subject.identity.recording_id.length - ids.length;
  const sentBefore = Math.min(openTarget(context, subject, target)?.sentRows ?? 0, gone);
  const ends: RecordingDeletion[] = [];
  const placeOf = placesOf(context, subject);
  const noteSent = (more: number): void => {
    const sentRows = sentBefore + ends.filter((end) => !isRefusal(end)).length + more;
    note(context, subject, target, { sentRows });
  };
  // A refusal may be about one recording: a few more are tried.
  while (ends.length < ids.length && !isMissing() && !(ends.length > 1 && ends.every(isRefusal))) {
    const isMany = !calls.isManyRefused && ids.length - ends.length > 1;
    const most = isMany ? recordingBulkDeleteIdsMax : ends.length === 0 ? 1 : settings.budget.concurrency;
    const first = ends.length;
    const some = ids.slice(first, first + most);
    noteSent(some.length);
    const taken = isMany ? await deleteMany(context, some) : 'none';
    if (taken === 'all') ends.push(...some.map(() => 'sent' as const));
    else if (taken === 'some' || !isMany)
      ends.push(...(await inBatches(context, some, (id) => deleteOne(context, id))));
    for (const [at, end] of ends.slice(first).entries()) context.answers.set(placeOf(some[at] ?? ''), end);
    noteSent(0);
    context.part.onStep();
    context.part.signal.throwIfAborted();
  }
  return ends;
}

function isRefusal(end: RecordingDeletion): boolean {
  return end === 'key' || end === 'service';
}

/**
 * Returns how many the service took: it passes over those that are too old for that call. Where it took not all, each is deleted by a
 * call of its own: twice is harmless.
 */
async function deleteMany(context: UpstreamContext, ids: readonly string[]): Promise<'all' | 'some' | 'none'> {
  const { service, signal } = context;
  let deleted: unknown;
  const { end } = await answerTo(async () => {
    const asked = { body: { session_recording_ids: ids }, priority: 'deletion', signal } as const;
    const { body } = await service.call('recordings.bulk_delete', asked);
    deleted = isJsonObject(body) ? body['deleted_count'] : undefined;
  });
  context.recordingCalls.isManyRefused = end !== 'sent';
  if (end !== 'sent') return 'none';
  return typeof deleted === 'number' && deleted < ids.length ? 'some' : 'all';
}

async function deleteOne(context: UpstreamContext, id: string): Promise<RecordingDeletion> {
  const { service, signal } = context;
  const about = { params: { id }, priority: 'deletion', signal } as const;
  const { end, status } = await answerTo(() => service.call('recordings.delete', about));
  if (end !== 'service') return end;
  // It may have gone since it was seen. Only one that is still there was refused.
  const call = bodyOrMissing(service.call('recordings.retrieve', about));
  const isShown = await call.then((found) => found !== undefined).catch(refusedIsNeither);
  // An id can be the name of another call, which also knows no DELETE.
  if (isShown === true && status === 405) context.recordingCalls.isMissing = true;
  return isShown === false ? 'sent' : 'service';
}

/** Where the service refuses to read an id as well, it has said nothing of the recording. */
function refusedIsNeither(error: unknown): undefined {
  if (error instanceof AppError && (error.code === 'rejected' || error.code === 'usage')) return undefined;
  throw error;
}

/**
 * What became of a deletion, and the status of a refusal or failure. Rejects where no other recording would fare better: the key is
 * unknown, the quota used up, nothing answers.
 */
async function answerTo(send: () => Promise<unknown>): Promise<{ end: RecordingDeletion; status?: number }> {
  try {
    await unlessThrottled(send);
    return { end: 'sent' };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { status = 0, code } = error;
    if (status === 403) return { end: 'key', status };
    if (status === 404 || code === 'rejected' || code === 'usage') return { end: 'service', status };
    if (status >= 500) return { end: 'failed', status };
    throw error;
  }
}
