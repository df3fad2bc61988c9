import { z } from 'zod';
import { isoTime } from '../../core/clock.ts';
import { optionalEndpoints, batchDistinctIdsMax, personBatchMax } from '../../contract/optional-endpoints.ts';
import { jsonContent, type Content } from '../http/endpoint-handler.ts';
import { route, type Route } from '../http/profile.ts';
import type { PersonRow } from '../store/person-row.ts';
import type { LiveOptions } from './live-data.ts';
import type { DeferredChanges } from './live-person-routes.ts';
import { firstOf, livePersonJson } from './live-rows.ts';

const bulkDelete = optionalEndpoints['persons.bulk_delete'];
/** `keep_person`, by its presence, leaves the persons and queues only the deletion of what belongs to them. */
const bulkRow = { ...bulkDelete, body: bulkDelete.body.extend({ keep_person: z.unknown().optional() }) };
/** When a queued deletion is made at the latest. */
const queuedMs = 60_000;

/**
 * Endpoints that a live service has beside the documented ones: one deletes many persons at once, one shows how far
 * the deletion of a person's events is. Bulk deletion queues the deletion of events at once, and the persons for a task, which
 * deletes them and their recordings later. Where it is set to delete at once, one uuid in sixteen is not deleted at the first
 * request.
 */
export function bulkDeletionRoutes(options: LiveOptions, { defer }: DeferredChanges): Route[] {
  const failedOnce = new Set<string>();
  const fails = ({ uuid }: PersonRow): boolean => {
    if (!uuid.endsWith('0') || failedOnce.has(uuid)) return false;
    failedOnce.add(uuid);
    return true;
  };
  const isQueued = options.bulkDeletion === 'queued';
  return [
    route('persons.bulk_delete', bulkRow, ({ body }, { store, change }) => {
      const { ids, delete_events: deleteEvents = false, delete_recordings: deleteRecordings = false } = body;
      const keepsPersons = 'keep_person' in body;
      const asked = [...new Set(ids.map((uuid) => uuid.toLowerCase()))];
      const personOf = (uuid: string): PersonRow | undefined => store.persons.find(store.lifecycle.idOf(uuid) ?? 0);
      const found = asked.flatMap((uuid) => personOf(uuid) ?? []);
      const notFound = asked.filter((uuid) => !personOf(uuid));
      const failed = new Set(keepsPersons || (isQueued && !options.queueGivesUp) ? [] : found.filter(fails));
      for (const person of found) {
        const { id, distinctIds } = person;
        const deleteOwnRecordings = (): void => void (deleteRecordings && store.recordings.deleteOf(distinctIds));
        if (deleteEvents && (isQueued || keepsPersons)) store.persons.deleteEvents(id, change);
        if (failed.has(person)) continue;
        if (keepsPersons) defer(deleteOwnRecordings);
        else if (isQueued)
          defer(() => {
            store.persons.delete(id, false, change);
            deleteOwnRecordings();
          }, change.atMs + queuedMs);
        else {
          store.persons.delete(id, deleteEvents, change);
          defer(deleteOwnRecordings);
        }
      }
      const errors = isQueued ? [] : [...failed];
      const result = {
        persons_found: found.length,
        persons_deleted: isQueued || keepsPersons ? 0 : found.length - errors.length,
        persons_queued_for_deletion: isQueued && !keepsPersons ? found.length : 0,
        events_queued_for_deletion: deleteEvents && found.length > 0,
        recordings_queued_for_deletion: deleteRecordings && found.length > 0,
        deletion_errors: errors.map(({ uuid }) => ({ person_uuid: uuid, step: 'delete_postgres' })),
        ...(options.namesIdsNotFound && { ids_not_found: notFound }),
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

/**
 * Endpoints that read many persons at once, from the store of the rows. What is asked for beyond 200 is left out
 * without a word, and so is a person that is not there. Read in the service's source in autumn 2026.
 */
export const personBatchRoutes: readonly Route[] = [
  route('persons.batch_by_uuids', optionalEndpoints['persons.batch_by_uuids'], ({ body }, { store }) =>
    personsBy(
      body.uuids.map((uuid) => uuid.toLowerCase()),
      (uuid) => {
        const id = store.lifecycle.idOf(uuid);
        return id === undefined ? undefined : store.persons.find(id);
      },
    ),
  ),
  route('persons.batch_by_distinct_ids', optionalEndpoints['persons.batch_by_distinct_ids'], ({ body }, { store }) =>
    personsBy(body.distinct_ids, (distinctId) => store.lifecycle.ownerOf(distinctId)),
  ),
];

function personsBy(keys: readonly string[], find: (key: string) => PersonRow | undefined): Content {
  const members = [...new Set(keys.slice(0, personBatchMax))].flatMap((key) => {
    const person = find(key);
    if (!person) return [];
    const shown = livePersonJson({ ...person, distinctIds: firstOf(person.distinctIds, batchDistinctIdsMax) });
    return [`${JSON.stringify(key)}:${shown}`];
  });
  return jsonContent(`{"results":{${members.join(',')}}}`);
}
