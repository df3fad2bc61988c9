import { z } from 'zod';
import { assertNever } from '../../core/errors.ts';
import { isJsonObject, parseExactJson, type JsonObject } from '../../core/exact-json.ts';

const scalar = z.union([z.string(), z.number(), z.boolean()]);
const key = z.string();

/**
 * One item of the `properties` parameter. The document shows no structure. This is the core of what live services
 * take: a key, an operator (default `exact`) and a value, or several values to compare with.
 */
export const PropertyFilter = z.union([
  z.object({ key, operator: z.enum(['exact', 'is_not']).default('exact'), value: z.union([scalar, z.array(scalar)]) }),
  z.object({ key, operator: z.enum(['icontains', 'gt', 'lt']), value: scalar }),
  z.object({ key, operator: z.enum(['is_set', 'is_not_set']) }),
]);
export type PropertyFilter = z.infer<typeof PropertyFilter>;

/** Whether properties, as JSON text, meet every filter. Properties that are not an object have no keys. */
export function matchesProperties(properties: string, filters: readonly PropertyFilter[]): boolean {
  const parsed = parseExactJson(properties);
  const object = isJsonObject(parsed) ? parsed : {};
  return filters.every((filter) => matches(object, filter));
}

function matches(object: JsonObject, filter: PropertyFilter): boolean {
  const isSet = Object.hasOwn(object, filter.key);
  const text = isSet ? asText(object[filter.key]) : '';
  switch (filter.operator) {
    case 'exact':
      return isSet && anyOf(filter.value).includes(text);
    case 'is_not':
      return !isSet || !anyOf(filter.value).includes(text);
    case 'icontains':
      return isSet && text.toLowerCase().includes(asText(filter.value).toLowerCase());
    case 'gt':
      return isSet && compare(text, asText(filter.value)) > 0;
    case 'lt':
      return isSet && compare(text, asText(filter.value)) < 0;
    case 'is_set':
      return isSet;
    case 'is_not_set':
      return !isSet;
    default:
      return assertNever(filter);
  }
}

function anyOf(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).map(asText);
}

/** Values are compared as text, since a URL cannot tell 42 from "42". */
function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Compares two numbers as numbers, everything else as text, so that ISO 8601 times compare as times. */
function compare(a: string, b: string): number {
  const difference = Number(a) - Number(b);
  if (a.trim() !== '' && b.trim() !== '' && !Number.isNaN(difference)) return difference;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
