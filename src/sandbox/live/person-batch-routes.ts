import { batchDistinctIdsMax, optionalEndpoints, personBatchMax } from '../../contract/optional-endpoints.ts';
import { jsonContent, type Content } from '../http/endpoint-handler.ts';
import { route, type Route } from '../http/profile.ts';
import type { PersonRow } from '../store/person-row.ts';
import { firstOf, livePersonJson } from './live-rows.ts';

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
