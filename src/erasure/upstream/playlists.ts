import { askForEntries, type ToldEntries } from '../../client/playlist-entries.ts';
import { ofOneRow } from '../../client/control.ts';
import { askForProject, bodyOrMissing, isSingleCase, readMissing } from '../../client/service.ts';
import { isoTime } from '../../core/clock.ts';
import { AppError, assertNever } from '../../core/errors.ts';
import { untoldPlaylists } from '../../mirror/passes.ts';
import type { Subject } from '../request/box.ts';
import { intend, note, settle } from '../request/target-journal.ts';
import {
  confirmPause,
  eachSubjectTogether,
  inBatches,
  isDue,
  openTarget,
  raise,
  raiseRefusal,
  unlessThrottled,
  type Outcome,
  type UpstreamContext,
} from './context.ts';
import { lookFor, mayBeOfOther } from './recordings.ts';
import { leavesAnId, letStay } from './requested-recordings.ts';
import { isUnshown, judgeEntry, planPlaylists, type EntryEnd, type RemovalAnswer } from './playlist-plan.ts';

const target = 'upstream.playlists';

/**
 * Takes the subjects' recordings out of known playlists. Sends again after an unknown outcome: that is harmless. A refusal, and
 * an error at an entry, concern this target alone. Where nobody has asked for the person, the entries stay as long as the recordings do,
 * and in any case until it is said whose a distinct id is.
 */
export async function advancePlaylists(context: UpstreamContext, subjects: readonly Subject[]): Promise<void> {
  for (const subject of subjects) letStay(context, subject);
  const staysYet = (subject: Subject): boolean => {
    const recordings = openTarget(context, subject, 'upstream.recordings');
    const isKept = subject.origin === 'upstream' && recordings !== undefined && !isDue(context, recordings);
    return isKept || leavesAnId(context, subject);
  };
  const due = subjects.filter((subject) => isDue(context, openTarget(context, subject, target)) && !staysYet(subject));
  await eachSubjectTogether(context, due, (subject) => removeFromPlaylists(context, subject));
}

async function removeFromPlaylists(context: UpstreamContext, subject: Subject): Promise<Outcome> {
  const { memberships } = subject;
  const { playlists, retry } = context.settings;
  if (memberships.length > 0) intend(context, [subject], target);
  const ends: EntryEnd[] = [];
  for (const [shortId, entries] of Map.groupBy(memberships, (membership) => membership.shortId)) {
    const recordingIds = entries.map(({ recordingId }) => recordingId);
    const isTheirs = await inBatches(context, recordingIds, (id) => isOfSubject(context, subject, id));
    const theirs = recordingIds.filter((_id, index) => isTheirs[index]);
    ends.push(...(await removeEntries(context, shortId, theirs)));
    ends.push(...isTheirs.flatMap((is) => (is ? [] : (['unclear'] as const))));
  }
  return (own) => {
    const attempts = openTarget(own, subject, target)?.attempts ?? 0;
    const isUntold = untoldPlaylists(own.db, playlists.shortIds).length > 0;
    const step = planPlaylists(ends, { isUntold, attempts, attemptsMax: retry.attemptsMax });
    const seenAt = ends.includes('there') ? isoTime(own.clock.now()) : null;
    switch (step.do) {
      case 'call':
        note(own, subject, target, { seenAt, ...confirmPause(own) });
        if (step.reason === 'playlist_refused') raiseRefusal(own, subject, target, step.reason);
        else raise(own, subject, target, step.reason);
        return;
      case 'wait':
        note(own, subject, target, { status: 'waiting', attempts: attempts + 1, seenAt, ...confirmPause(own) });
        return;
      case 'settle': {
        const { result, assurance } = step;
        const removed = ends.filter((end) => end === 'removed').length;
        const rows = memberships.length === 0 ? {} : { rows_before: memberships.length, rows_removed: removed };
        settle(own, [subject], target, { result, assurance, ...rows });
        return;
      }
      default:
        assertNever(step);
    }
  };
}

/** Whether a recording may be taken out. Where it may be of somebody else, one that is shown with that person stays. */
async function isOfSubject(context: UpstreamContext, subject: Subject, id: string): Promise<boolean> {
  if (!mayBeOfOther(subject)) return true;
  const look = await lookFor(context, subject, id);
  if (look === 'gone') await context.control('recordings');
  return look === 'there' || look === 'gone';
}

/**
 * Removes recordings from a playlist. One that it still shows is not gone, whatever was answered. Rejects where the service
 * refuses or knows nothing of the project either.
 */
async function removeEntries(
  context: UpstreamContext,
  shortId: string,
  recordingIds: readonly string[],
): Promise<EntryEnd[]> {
  const { service, signal } = context;
  const said = await inBatches(context, recordingIds, (id) => removeEntry(context, shortId, id));
  const options = { priority: 'deletion', signal } as const;
  const isGone = (answer: RemovalAnswer): boolean => answer === 'removed' || answer === 'missing';
  // Where the removal is answered, or the playlist shown, a list at which the service fails, each time perhaps, keeps no request open.
  const look = async (playlist: unknown): Promise<ToldEntries | null> =>
    await askForEntries(service, shortId, playlist, options).catch((error: unknown) => {
      if (!isSingleCase(error)) throw error;
      return null;
    });
  const untold = said.map((answer) => (answer === 'refused' ? 'refused' : 'unclear'));
  const now = said.some(isGone) ? await look(null) : undefined;
  if (now === null) return untold;
  const shownIds = new Set(now?.shown?.map(({ id }) => id));
  const answers = said.map((answer, index) =>
    isGone(answer) && shownIds.has(recordingIds[index] ?? '') ? 'failed' : answer,
  );
  if (answers.every((answer) => answer === 'removed')) return answers.map(() => 'removed');
  const asked = { params: { short_id: shortId }, ...options };
  const playlist = await bodyOrMissing(service.call('playlists.retrieve', asked)).catch((error: unknown) => {
    // A proxy without a route for playlists has none for an entry either: its 404 says nothing.
    const isAnswer = error instanceof AppError && error.status !== undefined && error.status !== 429;
    if (answers.includes('missing') || !isAnswer) throw error;
    return null;
  });
  if (playlist === undefined || answers.includes('refused')) await askForProject(service, 'persons', signal);
  // A playlist that was deleted there can be put back there, with its entries.
  if (playlist === undefined) return answers.map((answer) => (answer === 'removed' ? 'removed' : 'unclear'));
  if (!answers.includes('refused') && !answers.includes('failed'))
    return answers.map((answer) => (answer === 'removed' ? 'removed' : 'gone'));
  const listed = await (playlist === null ? askForEntries(service, shortId, null, options) : look(playlist));
  if (listed === null) return untold;
  // Nobody knows how many there are.
  const told: ToldEntries =
    playlist === null && listed.reason === null ? { shown: listed.shown, reason: 'cut' } : listed;
  const removals = recordingIds.map((id, index) => ({ id, answer: answers[index] ?? 'failed' }));
  return await inBatches(context, removals, async ({ id, answer }) => {
    const isAsked = (answer === 'refused' || answer === 'failed') && isUnshown(id, told);
    return judgeEntry(answer, id, { told, hasRecording: isAsked && (await hasRecording(context, id)) });
  });
}

async function hasRecording(context: UpstreamContext, id: string): Promise<boolean> {
  const { service, signal } = context;
  try {
    const call = service.call('recordings.retrieve', { params: { id }, priority: 'deletion', signal });
    return (await bodyOrMissing(call)) !== undefined;
  } catch (caught) {
    const error = await ofOneRow(caught, 'recordings', context);
    if (isSingleCase(error) || (error instanceof AppError && error.code === 'usage')) return false;
    throw error;
  }
}

async function removeEntry(
  { service, refusedPlaylists, signal }: UpstreamContext,
  shortId: string,
  recordingId: string,
): Promise<RemovalAnswer> {
  if (refusedPlaylists.has(shortId)) return 'refused';
  const params = { short_id: shortId, session_recording_id: recordingId };
  try {
    await unlessThrottled(() => service.call('playlists.remove_recording', { params, priority: 'deletion', signal }));
    return 'removed';
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { status = 0, code } = error;
    if (status === 403) refusedPlaylists.add(shortId);
    const missing = readMissing(error, recordingId);
    if (missing !== undefined) return missing === 'gone' ? 'missing' : 'refused';
    if (status === 403 || code === 'rejected' || code === 'usage') return 'refused';
    if (status >= 500) return 'failed';
    throw error;
  }
}
