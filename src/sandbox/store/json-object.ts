import { isRawNumber } from '../../core/exact-json.ts';

/** A JSON object's keys and values. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a parsed JSON value is an object: no list, no null, and no number that was kept as its digits. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);
}
