import { AppError } from '../../core/errors.ts';
import { askForProject, bodyOrMissing } from '../../client/service.ts';
import { settle } from '../request/target-journal.ts';
import {
  confirm,
  eachSubject,
  inBatches,
  isDue,
  openTarget,
  type Lane,
  type UpstreamSubject,
} from './context.ts';

const target = 'upstream.recordings';

/**
 * Tells what the service still has of every subject's recordings. No documented call deletes one, so those that are
 * there stay. Each is asked for by its id, and a 404 counts only when it comes as often as for a person: that says more
 * than a list without it, which shows what it likes of the latest days, and the fence keeps the mirror from knowing.
 */
export async function advanceRecordings(lane: Lane, subjects: readonly UpstreamSubject[]): Promise<void> {
  const due = subjects.filter((subject) => isDue(lane, openTarget(lane, subject, target)));
  await eachSubject(lane, due, target, (subject) => advance(lane, subject));
}

async function advance(lane: Lane, subject: UpstreamSubject): Promise<void> {
  const recordings = openTarget(lane, subject, target);
  const { recording_id: ids } = subject.identity;
  if (!recordings) return;
  if (ids.length === 0) {
    settle(lane, [subject], target, { result: 'not_applicable', assurance: 'observed' });
    return;
  }
  const found = await inBatches(lane, ids, (id) => isThere(lane, id));
  const rowsBefore = found.filter(Boolean).length;
  if (rowsBefore > 0) {
    settle(lane, [subject], target, {
      result: 'not_deletable_via_api',
      assurance: 'not_verifiable',
      rowsBefore,
      rowsRemoved: 0,
    });
    return;
  }
  await askForProject(lane.service, 'persons', lane.signal);
  if (recordings.confirmations + 1 < lane.settings.deletions.confirmations)
    confirm(lane, subject, recordings, target);
  else settle(lane, [subject], target, { result: 'absent', assurance: 'observed' });
}

/** What cannot be asked for cannot be told to be gone. */
async function isThere({ service, signal }: Lane, id: string): Promise<boolean> {
  try {
    const call = service.call('recordings.retrieve', { params: { id }, priority: 'deletion', signal });
    return (await bodyOrMissing(call)) !== undefined;
  } catch (error) {
    if (error instanceof AppError && (error.code === 'rejected' || error.code === 'usage')) return true;
    throw error;
  }
}
