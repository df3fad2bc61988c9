import { z } from 'zod';
import { isoTime } from '../../core/clock.ts';
import { optionalEndpoints } from '../../contract/optional-endpoints.ts';
import { jsonContent } from '../http/endpoint-handler.ts';
import { route, type Route } from '../http/profile.ts';
import type { DeferredChanges } from './live-person-routes.ts';

const bulkDelete = optionalEndpoints['persons.bulk_delete'];
/** `keep_person`, by its presence, leaves the persons and queues only the deletion of what belongs to them. */
const bulkRow = { ...bulkDelete, body: bulkDelete.body.extend({ keep_person: z.unknown().optional() }) };

/**
 * Endpoints that a live service has beside the documented ones: one deletes many persons at once, one shows how far
 * the deletion of a person's events is. One uuid in sixteen is not deleted at the first request. Recordings go some
 * requests later.
 */
export function bulkDeletionRoutes({ defer }: DeferredChanges): Route[] {
  const failedOnce = new Set<string>();
  const fails = (uuid: string): boolean => {
    if (!uuid.endsWith('0') || failedOnce.has(uuid)) return false;
    failedOnce.add(uuid);
    return true;
  };
  return [
    route('persons.bulk_delete', bulkRow, ({ body }, { store, change }) => {
      const { ids, delete_events: deleteEvents = false, delete_recordings: deleteRecordings = false } = body;
      const keepsPersons = 'keep_person' in body;
      const found = [...new Set(ids.map((uuid) => uuid.toLowerCase()))].flatMap((uuid) => {
        const id = store.lifecycle.idOf(uuid);
        const person = id === undefined ? undefined : store.persons.find(id);
        return person ? [person] : [];
      });
      const failed = keepsPersons ? [] : found.filter(({ uuid }) => fails(uuid));
      for (const { uuid, id, distinctIds } of found) {
        if (failed.some((person) => person.uuid === uuid)) continue;
        if (!keepsPersons) store.persons.delete(id, deleteEvents, change);
        else if (deleteEvents) store.persons.deleteEvents(id, change);
        if (deleteRecordings) defer(() => store.recordings.deleteOf(distinctIds));
      }
      const result = {
        persons_found: found.length,
        persons_deleted: keepsPersons ? 0 : found.length - failed.length,
        events_queued_for_deletion: deleteEvents,
        recordings_queued_for_deletion: deleteRecordings,
        deletion_errors: failed.map(({ uuid }) => ({ person_uuid: uuid, error: 'Could not be deleted.' })),
      };
      return jsonContent(JSON.stringify(result));
    }),

    route(
      'persons.deletion_status',
      optionalEndpoints['persons.deletion_status'],
      ({ query: { person_uuid: uuid } }, { store }) => {
        const results = store.events
          .deletions()
          .filter(({ personUuid }) => uuid === undefined || personUuid === uuid)
          .map(({ personUuid, requestedAtMs, runAtMs }) => ({
            person_uuid: personUuid,
            created_at: isoTime(requestedAtMs),
            status: runAtMs === null ? 'pending' : 'completed',
            delete_verified_at: runAtMs === null ? null : isoTime(runAtMs),
          }));
        return jsonContent(JSON.stringify({ results }));
      },
    ),
  ];
}
