import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../../core/exact-json.ts';
import type { PersonFilters } from '../store/person-list.ts';
import { PropertyFilter } from '../store/property-filter.ts';
import { checkInput } from './check-input.ts';

const propertyFilters = z.object({ properties: z.array(PropertyFilter).max(50).optional() });

/** Properties that a person is to get: an object, since merging needs one. Not a record of zod's, which drops a key named `__proto__`. */
export const propertyValues = z.object({
  properties: z.custom<JsonObject>(isJsonObject, 'Must be an object.').optional(),
});

/** The filters in the query of the list of persons. Throws a 400 for a property filter that is none. */
export function personFilters(query: {
  distinct_id?: string | undefined;
  email?: string | undefined;
  search?: string | undefined;
  properties?: readonly unknown[] | undefined;
}): PersonFilters {
  return {
    distinctId: query.distinct_id,
    email: query.email,
    search: query.search,
    properties: checkInput(propertyFilters, { properties: query.properties }).properties,
  };
}
