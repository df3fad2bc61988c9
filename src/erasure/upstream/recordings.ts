import { AppError } from '../../core/errors.ts';
import { askForProject, bodyOrMissing } from '../../client/service.ts';
import type { Subject } from '../request/box.ts';
import { intend, settle } from '../request/target-journal.ts';
import {
  confirm,
  eachSubjectTogether,
  inBatches,
  isDue,
  openTarget,
  raiseRefusal,
  type Outcome,
  type UpstreamContext,
} from './context.ts';
import type { UpstreamTarget } from '../../ledger/target.ts';
import { advancesLater, isRequested, noteStillThere, requestedEnd } from './requested-recordings.ts';

/** Takes the subjects' recordings out of known playlists. Sends again after an unknown outcome: that is harmless. */
export async function advancePlaylists(context: UpstreamContext, subjects: readonly Subject[]): Promise<void> {
  const due = subjects.filter((subject) => isDue(context, openTarget(context, subject, 'upstream.playlists')));
  await eachSubjectTogether(context, due, 'upstream.playlists', (subject) => removeFromPlaylists(context, subject));
}

/** How a target of a subject is settled. */
function ended(subject: Subject, target: UpstreamTarget, end: Parameters<typeof settle>[3]): Outcome {
  return (own) => settle(own, [subject], target, end);
}

async function removeFromPlaylists(context: UpstreamContext, subject: Subject): Promise<Outcome> {
  const { memberships } = subject;
  if (memberships.length === 0)
    return ended(subject, 'upstream.playlists', { result: 'not_applicable', assurance: 'observed' });
  intend(context, [subject], 'upstream.playlists');
  const outcomes = await inBatches(context, memberships, (membership) => remove(context, membership));
  if (outcomes.includes('refused')) return (own) => raiseRefusal(own, subject, 'upstream.playlists');
  if (outcomes.includes('missing')) await askForProject(context.service, 'persons', context.signal);
  return ended(subject, 'upstream.playlists', {
    result: 'removed',
    assurance: 'observed',
    rowsBefore: memberships.length,
    rowsRemoved: outcomes.filter((outcome) => outcome === 'removed').length,
  });
}

async function remove(
  { service, signal }: UpstreamContext,
  { shortId, recordingId }: Subject['memberships'][number],
): Promise<'removed' | 'missing' | 'refused'> {
  try {
    await service.call('playlists.remove_recording', {
      params: { short_id: shortId, session_recording_id: recordingId },
      priority: 'deletion',
      signal,
    });
    return 'removed';
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.status === 404) return 'missing';
    if (error.code === 'rejected' || error.code === 'usage') return 'refused';
    throw error;
  }
}

/**
 * Tells which of every subject's recordings the service still has. No documented call deletes a recording: those that are
 * there stay, unless their deletion was requested together with the person's. Each recording is asked for by its id, and
 * counts as absent only after as many 404 answers as a person needs. The list of recordings proves less: it may leave out
 * recordings of the latest days, and the fence keeps these out of the mirror.
 */
export async function advanceRecordings(context: UpstreamContext, subjects: readonly Subject[]): Promise<void> {
  const due: Subject[] = [];
  for (const subject of subjects)
    if (openTarget(context, subject, 'upstream.recordings') && !(await advancesLater(context, subject)))
      due.push(subject);
  await eachSubjectTogether(context, due, 'upstream.recordings', (subject) => lookForRecordings(context, subject));
}

async function lookForRecordings(context: UpstreamContext, subject: Subject): Promise<Outcome | undefined> {
  const recordings = openTarget(context, subject, 'upstream.recordings');
  const { recording_id: ids } = subject.identity;
  if (!recordings) return undefined;
  if (ids.length === 0) {
    const nothing = { result: 'not_applicable', assurance: 'observed' } as const;
    return ended(subject, 'upstream.recordings', isRequested(recordings) ? requestedEnd(recordings) : nothing);
  }
  const found = await inBatches(context, ids, (id) => isThere(context, id));
  const rowsBefore = found.filter(Boolean).length;
  if (rowsBefore > 0 && isRequested(recordings))
    return (own) => {
      if (noteStillThere(own, subject, recordings)) return;
      const counts = { rowsBefore: ids.length, rowsRemoved: ids.length - rowsBefore };
      settle(own, [subject], 'upstream.recordings', { ...requestedEnd(recordings), ...counts });
    };
  if (rowsBefore > 0)
    return ended(subject, 'upstream.recordings', {
      result: 'not_deletable_via_api',
      assurance: 'not_verifiable',
      rowsBefore,
      rowsRemoved: 0,
    });
  await askForProject(context.service, 'persons', context.signal);
  if (recordings.confirmations + 1 < context.settings.deletions.confirmations)
    return (own) => confirm(own, subject, recordings, 'upstream.recordings');
  return ended(subject, 'upstream.recordings', { result: 'absent', assurance: 'observed' });
}

/** Where the service does not take the id, nothing shows that the recording is gone. */
async function isThere({ service, signal }: UpstreamContext, id: string): Promise<boolean> {
  try {
    const call = service.call('recordings.retrieve', { params: { id }, priority: 'deletion', signal });
    return (await bodyOrMissing(call)) !== undefined;
  } catch (error) {
    if (error instanceof AppError && (error.code === 'rejected' || error.code === 'usage')) return true;
    throw error;
  }
}
