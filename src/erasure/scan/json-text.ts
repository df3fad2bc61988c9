import { readJson } from '../../core/exact-json.ts';

/** What a text holds as JSON, where it is an object, a list or a text in quotes; undefined for every other text. */
export function parseJsonText(text: string): unknown {
  return /^\s*[[{"]/.test(text) ? readJson(text) : undefined;
}
