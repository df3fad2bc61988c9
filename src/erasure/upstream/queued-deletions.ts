import type { z } from 'zod';
import { AppError } from '../../core/errors.ts';
import { isoToMicros } from '../../core/time.ts';
import { DeletionStatus } from '../../contract/optional-endpoints.ts';
import { inBatches, type UpstreamContext } from './context.ts';
import { serviceTimeMs, type QueuedDeletion } from './events-plan.ts';

/**
 * Every deletion of events that the service shows of some persons, by uuid, and the latest time of its answers, where they tell
 * one. Rejects as calls do, and with `service` where an answer cannot be read.
 */
export async function askForDeletions(
  context: UpstreamContext,
  uuids: readonly string[],
): Promise<{ rows: QueuedDeletion[]; dateMs: number | undefined }> {
  const { service, signal } = context;
  const answers = await inBatches(context, uuids, async (uuid) => {
    const query = { person_uuid: uuid };
    const { body, date } = await service.call('persons.deletion_status', { query, priority: 'deletion', signal });
    const answer = DeletionStatus.safeParse(body);
    if (!answer.success)
      throw new AppError('the service answered with something that is no status of deletions', {
        code: 'service',
        hint: 'nothing was taken from the answer; it is asked again',
      });
    return { rows: answer.data.results.flatMap((row) => queuedOf(row, uuid)), dateMs: serviceTimeMs(date) };
  });
  const dates = answers.flatMap(({ dateMs }) => dateMs ?? []);
  return { rows: answers.flatMap(({ rows }) => rows), dateMs: dates.length === 0 ? undefined : Math.max(...dates) };
}

type Row = z.infer<typeof DeletionStatus>['results'][number];

function queuedOf(
  { person_uuid: person, created_at: createdAt, status, delete_verified_at: verifiedAt }: Row,
  uuid: string,
): QueuedDeletion[] {
  const queuedMicros = isoToMicros(createdAt);
  if (person.toLowerCase() !== uuid || queuedMicros === undefined) return [];
  const isCompleted = status === 'completed';
  return [{ person: uuid, queuedMicros, isCompleted, verifiedMicros: isoToMicros(verifiedAt ?? '') }];
}
