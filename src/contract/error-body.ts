import { z } from 'zod';
import { printable } from '../core/words.ts';

/** The body of a refusal, as live services write it; the document shows none. */
export const ErrorBody = z.object({
  type: z.string(),
  code: z.string(),
  detail: z.string(),
  attr: z.string().nullable(),
});
export type ErrorBody = z.infer<typeof ErrorBody>;

/** The refusals this program tells apart, with their status and the two closed fields of their body. */
export const refusals = {
  notAuthenticated: { status: 401, type: 'authentication_error', code: 'not_authenticated' },
  authenticationFailed: { status: 401, type: 'authentication_error', code: 'authentication_failed' },
  permissionDenied: { status: 403, type: 'authentication_error', code: 'permission_denied' },
  notFound: { status: 404, type: 'invalid_request', code: 'not_found' },
  methodNotAllowed: { status: 405, type: 'invalid_request', code: 'method_not_allowed' },
  invalidInput: { status: 400, type: 'validation_error', code: 'invalid_input' },
  throttled: { status: 429, type: 'throttled_error', code: 'throttled' },
} as const;

const wordsMax = 300;

/**
 * The service's own words in a refusal's body, whichever of its shapes it has, on one line and cut to 300 characters;
 * undefined when it has none. May hold what the caller sent: shown to the caller, never logged.
 */
export function refusalDetail(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  for (const key of ['detail', 'error', 'message']) {
    const words: unknown = Reflect.get(body, key);
    if (typeof words === 'string' && words !== '') return printable(words.slice(0, wordsMax)).toWellFormed();
  }
  return undefined;
}
