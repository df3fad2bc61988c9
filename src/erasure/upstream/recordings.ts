import type { Database } from '../../mirror/database.ts';
import { embeddedPerson } from '../../contract/embedded-person.ts';
import { hasRoute, nobody } from '../../contract/identity.ts';
import { rowReaders, sightingOf } from '../../contract/row-readers.ts';
import { AppError } from '../../core/errors.ts';
import { ofOneRow } from '../../client/control.ts';
import { askForProject, readMissing } from '../../client/service.ts';
import { findPersons } from '../../mirror/sightings.ts';
import type { ErasureTarget } from '../../mirror/erasure-targets.ts';
import type { Subject } from '../request/box.ts';
import { note, settle } from '../request/target-journal.ts';
import {
  confirm,
  confirmPause,
  eachSubjectTogether,
  inBatches,
  openTarget,
  raise,
  type Outcome,
  deletionEnds,
  type RecordingAnswer,
  type RecordingDeletion,
  type RecordingLook,
  type UpstreamContext,
} from './context.ts';
import { deleteRecordings, placesOf } from './delete-recordings.ts';
import { advancesLater, isRequested, noteStillThere, requestedEnd } from './requested-recordings.ts';

const target = 'upstream.recordings';

/**
 * Deletes every subject's recordings that the service still has, and tells which are gone. The document has no call that deletes
 * a recording: live services delete it by its id, where the key may. Otherwise those that are there stay, unless their deletion
 * was requested together with the person's. Each recording is asked for by its id, and counts as absent only after as many 404
 * answers as a person needs. The list of recordings proves less: it may leave out recordings of the latest days, and the fence
 * keeps these out of the mirror.
 */
export async function advanceRecordings(context: UpstreamContext, subjects: readonly Subject[]): Promise<void> {
  const due: Subject[] = [];
  for (const subject of subjects)
    if (openTarget(context, subject, target) && !(await advancesLater(context, subject))) due.push(subject);
  await eachSubjectTogether(context, due, async (subject) => {
    const outcome = await advance(context, subject);
    // The next look asks anew.
    const placeOf = placesOf(context, subject);
    for (const id of subject.identity.recording_id) context.answers.delete(placeOf(id));
    return outcome;
  });
}

/** How the target of a subject is settled. */
function ended(subject: Subject, end: Parameters<typeof settle>[3]): Outcome {
  return (own) => settle(own, [subject], target, end);
}

async function advance(context: UpstreamContext, subject: Subject): Promise<Outcome | undefined> {
  const recordings = openTarget(context, subject, target);
  const { recording_id: ids } = subject.identity;
  if (!recordings) return undefined;
  if (ids.length === 0) {
    const nothing = { result: 'not_applicable', assurance: 'observed' } as const;
    return ended(subject, isRequested(recordings) ? requestedEnd(recordings) : nothing);
  }
  const answers = await lookForAll(context, subject);
  const those = (...are: RecordingAnswer[]): string[] =>
    ids.filter((_id, index) => are.includes(answers[index] ?? 'unknown'));
  const [deletable, gone, there] = [those('there'), those('gone'), those('there', 'shown', ...deletionEnds)];
  const isKnown = there.length + gone.length === ids.length;
  const found = { there, deletable, gone, ends: deletionEnds.filter((end) => answers.includes(end)) };
  if (there.length > 0 || gone.length === 0) return deleteThose(context, subject, recordings, found);
  await context.control('recordings');
  await askForProject(context.service, 'persons', context.signal);
  if (recordings.confirmations + 1 < context.settings.deletions.confirmations)
    return (own) => confirm(own, subject, recordings);
  if (!isKnown) return deleteThose(context, subject, recordings, found);
  if (recordings.sentRows === 0) return ended(subject, { result: 'absent', assurance: 'observed' });
  const rows = Math.min(recordings.sentRows, ids.length);
  return ended(subject, { result: 'deleted', assurance: 'observed', rows_before: rows, rows_removed: rows });
}

/** What was found of a subject's recordings, and what became of those whose deletion was sent before others had their turn. */
type Found = Record<'there' | 'deletable' | 'gone', readonly string[]> & { ends: readonly RecordingDeletion[] };

/**
 * Deletes recordings that were seen to be there. Where that cannot be done, or others cannot be asked for, the target ends as
 * one whose recordings stay, or of which nothing shows that they are gone.
 */
async function deleteThose(
  context: UpstreamContext,
  subject: Subject,
  recordings: ErasureTarget,
  { there, deletable, gone, ends: earlier }: Found,
): Promise<Outcome> {
  const ids = context.settings.erasure.deleteRecordings === 'auto' ? deletable.filter(hasRoute) : [];
  const ends = [...earlier, ...(ids.length > 0 ? await deleteRecordings(context, subject, ids) : [])];
  if (ends.some((end) => end === 'sent' || end === 'failed'))
    return (own) =>
      noteSent(own, subject, { ends, isAgain: recordings.status !== 'intended' && recordings.sentRows > 0 });
  const rows = { rows_before: subject.identity.recording_id.length, rows_removed: gone.length };
  if (isRequested(recordings))
    return (own) => {
      if (!noteStillThere(own, subject, recordings))
        settle(own, [subject], target, { ...requestedEnd(recordings), ...rows });
    };
  const isKey = ends.includes('key');
  const left = there.length === 0 ? 'not_verifiable' : isKey ? 'not_deletable_by_key' : 'not_deletable_via_api';
  const seen = recordings.sentRows > 0 ? rows : { rows_before: there.length, rows_removed: 0 };
  return ended(subject, { result: left, assurance: 'not_verifiable', ...seen });
}

/** Notes that deletions were sent. Those that failed, or had no effect the last time, are for somebody to look at. */
function noteSent(
  context: UpstreamContext,
  subject: Subject,
  { ends, isAgain }: { ends: readonly RecordingDeletion[]; isAgain: boolean },
): void {
  note(context, subject, target, { status: 'waiting', confirmations: 0, ...confirmPause(context) });
  if (isAgain || ends.includes('failed')) raise(context, subject, target, 'outcome_unknown');
}

/** The answers about all recordings of a subject, in their order. What this run has asked before is not asked again. */
async function lookForAll(context: UpstreamContext, subject: Subject): Promise<RecordingAnswer[]> {
  const { answers, part } = context;
  const looking = { ...context, signal: part.signal };
  const placeOf = placesOf(context, subject);
  return inBatches(looking, subject.identity.recording_id, async (id) => {
    const place = placeOf(id);
    const known = answers.get(place);
    if (known !== undefined) return known;
    const look = await lookFor(looking, subject, id);
    answers.set(place, look);
    part.onStep();
    return look;
  });
}

/** Where the service does not take the id, nothing shows that the recording is gone. */
export async function lookFor(context: UpstreamContext, subject: Subject, id: string): Promise<RecordingLook> {
  const { db, service, signal } = context;
  try {
    const { body } = await service.call('recordings.retrieve', { params: { id }, priority: 'deletion', signal });
    return ownerLook(db, subject, body);
  } catch (caught) {
    const error = await ofOneRow(caught, 'recordings', context);
    const missing = readMissing(error, id);
    if (missing !== undefined) return missing;
    if (error instanceof AppError && error.code === 'rejected')
      return error.status === 403 || mayBeOfOther(subject) ? 'unknown' : 'there';
    if (error instanceof AppError && error.code === 'usage') return 'there';
    throw error;
  }
}

/** Whether only the person that a recording is shown with tells whose it is: nobody has asked, or an identifier was left to somebody. */
export function mayBeOfOther({ origin, sharedWith = [] }: Subject): boolean {
  return origin === 'upstream' || sharedWith.length > 0;
}

/**
 * What a recording that is there may be for a subject: where it may be of somebody else, it stays if it is shown with anybody else who
 * lives (to whom an identifier was left may be merged since), and, of those nobody has asked for, with anybody at all. The integer id says that the service has a person: a deleted one is shown without.
 */
function ownerLook(db: Database, subject: Subject, recording: unknown): RecordingLook {
  const { identity, origin, sharedWith = [] } = subject;
  const row = rowReaders.recordings(recording);
  if (!row.ok) return mayBeOfOther(subject) ? 'unknown' : 'there';
  const { person_uuid: uuid, person_id: id, distinct_ids: distinctIds } = sightingOf('recordings', row.columns);
  if (uuid !== null && sharedWith.includes(uuid)) return 'unknown';
  if (!mayBeOfOther(subject)) return 'there';
  if (uuid !== null && identity.person_uuid.includes(uuid))
    return origin === 'upstream' && id !== null ? 'shown' : 'there';
  const shown = embeddedPerson(typeof row.columns['person'] === 'string' ? row.columns['person'] : null);
  // A live service shows a distinct id that nobody has with a uuid made of it: not the deleted person's, who was made of another one.
  if (uuid !== null && (id !== null || shown.createdAt !== undefined)) return 'unknown';
  const holders = findPersons(db, {
    ...nobody,
    person_uuid: uuid === null ? [] : [uuid],
    person_id: id === null ? [] : [id],
    distinct_id: distinctIds,
  });
  return holders.length > 0 ? 'unknown' : 'there';
}
