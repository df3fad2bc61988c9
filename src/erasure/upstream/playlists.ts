import { AppError } from '../../core/errors.ts';
import { intend, settle } from '../request/target-journal.ts';
import {
  eachSubject,
  inBatches,
  isDue,
  openTarget,
  raiseRefusal,
  type Lane,
  type Membership,
  type UpstreamSubject,
} from './context.ts';
import { askForProject } from '../../client/service.ts';

const target = 'upstream.playlists';

/**
 * Takes every subject's recordings out of the playlists that they are known to be in. Sent again where an outcome is
 * unknown: taking out what is out changes nothing.
 */
export async function advancePlaylists(lane: Lane, subjects: readonly UpstreamSubject[]): Promise<void> {
  const due = subjects.filter((subject) => isDue(lane, openTarget(lane, subject, target)));
  await eachSubject(lane, due, target, (subject) => advance(lane, subject));
}

async function advance(lane: Lane, subject: UpstreamSubject): Promise<void> {
  const { memberships } = subject;
  if (memberships.length === 0) {
    settle(lane, [subject], target, { result: 'not_applicable', assurance: 'observed' });
    return;
  }
  intend(lane, [subject], target);
  const outcomes = await inBatches(lane, memberships, (membership) => remove(lane, membership));
  if (outcomes.includes('refused')) {
    raiseRefusal(lane, subject, target);
    return;
  }
  if (outcomes.includes('missing')) await askForProject(lane.service, 'persons', lane.signal);
  settle(lane, [subject], target, {
    result: 'removed',
    assurance: 'observed',
    rowsBefore: memberships.length,
    rowsRemoved: outcomes.filter((outcome) => outcome === 'removed').length,
  });
}

async function remove(
  { service, signal }: Lane,
  { shortId, recordingId }: Membership,
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
