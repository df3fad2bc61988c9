import { z } from 'zod';
import { plain, type Endpoint } from './endpoints.ts';

/** How many persons one call of `persons.bulk_delete` takes at most. */
export const bulkDeleteIdsMax = 1000;

/** How many persons, or distinct ids, one call of a batch takes: the service leaves out the rest without a word. */
export const personBatchMax = 200;

/** A person of a batch is shown with so many of its distinct ids at most. */
export const batchDistinctIdsMax = 10;
/** How many recordings one call of `recordings.bulk_delete` takes at most: older services take 20, and answer 400. */
export const recordingBulkDeleteIdsMax = 100;

/** How far the deletions of persons' events are, as `persons.deletion_status` answers. */
export const DeletionStatus = z.object({
  results: z.array(
    z.object({
      person_uuid: z.guid(),
      created_at: z.string(),
      status: z.string(),
      delete_verified_at: z.string().nullish(),
    }),
  ),
});

/** Both batches answer `{"results": {…}}`, a person by what it was asked for; one that is not there is left out. */
const personBatch = {
  ...plain,
  method: 'POST',
  scope: 'person:read',
  isRead: true,
  response: z.object({ results: z.unknown() }),
} as const;

/** Endpoints that live services have and the document has not: a caller finds out whether they are there. */
export const optionalEndpoints = {
  'persons.bulk_delete': {
    ...plain,
    method: 'POST',
    path: '/persons/bulk_delete',
    scope: 'person:write',
    body: z.object({
      ids: z.array(z.guid()).min(1).max(bulkDeleteIdsMax),
      delete_events: z.boolean().optional(),
      delete_recordings: z.boolean().optional(),
    }),
    // The answer tells of deletions that failed, but not everywhere.
    status: 202,
    summary: 'Delete up to 1,000 persons by uuid',
  },
  'persons.batch_by_uuids': {
    ...personBatch,
    path: '/persons/batch_by_uuids',
    body: z.object({ uuids: z.array(z.guid()) }),
    summary: 'Read up to 200 persons by uuid',
  },
  'persons.batch_by_distinct_ids': {
    ...personBatch,
    path: '/persons/batch_by_distinct_ids',
    body: z.object({ distinct_ids: z.array(z.string()) }),
    summary: 'Read the persons of up to 200 distinct ids',
  },
  'persons.deletion_status': {
    ...plain,
    path: '/persons/deletion_status',
    scope: 'person:read',
    query: z.object({ person_uuid: z.guid().optional() }),
    response: DeletionStatus,
    summary: "Read how far the deletion of persons' events is",
  },
  'recordings.delete': {
    ...plain,
    method: 'DELETE',
    path: '/session_recordings/:id',
    params: z.object({ id: z.string() }),
    scope: 'session_recording:write',
    status: 204,
    summary: 'Delete one session recording',
  },
  'recordings.bulk_delete': {
    ...plain,
    method: 'POST',
    path: '/session_recordings/bulk_delete',
    scope: 'session_recording:write',
    body: z.object({ session_recording_ids: z.array(z.string()).min(1).max(recordingBulkDeleteIdsMax) }),
    summary: 'Delete up to 100 session recordings',
  },
} as const satisfies Record<string, Endpoint>;
