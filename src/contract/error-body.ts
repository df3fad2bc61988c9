import { z } from 'zod';
import { endpoints, scopes } from './endpoints.ts';
import { Person, Playlist, Recording } from './resources.ts';

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
  serverError: { status: 500, type: 'server_error', code: 'error' },
} as const;

const knownCodes: readonly string[] = Object.values(refusals).map(({ code }) => code);
const knownFields: ReadonlySet<string> = new Set(
  [Person, Recording, Playlist, ...Object.values(endpoints).flatMap(({ params, query }) => [params, query])].flatMap(
    ({ shape }) => Object.keys(shape),
  ),
);

/** Only so much of a text is looked at. */
const charactersMax = 1000;

/**
 * What a refusal's body says, cut to words that cannot name a person: its code, the field that it is about, and the scopes
 * in its text, each only if this program knows it. An empty text where it says nothing of that kind.
 */
export function harmlessWords(body: unknown): string {
  if (typeof body !== 'object' || body === null) return '';
  const textOf = (key: string): string => {
    const text: unknown = Reflect.get(body, key);
    return typeof text === 'string' ? text.slice(0, charactersMax) : '';
  };
  const [code, attr] = [textOf('code'), textOf('attr')];
  const texts = ['detail', 'error', 'message'].map(textOf);
  const named = scopes.filter((scope) => texts.some((text) => text.split(/[^a-z_:]+/).includes(scope)));
  return [...(knownCodes.includes(code) ? [code] : []), ...(knownFields.has(attr) ? [attr] : []), ...named].join(', ');
}
