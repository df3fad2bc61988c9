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

/** Whether a body is the service's own word that nothing is there under an identifier. A proxy writes another, or a page. */
export function saysNotFound(body: unknown): boolean {
  const read = ErrorBody.pick({ type: true, code: true, detail: true }).safeParse(body);
  return read.success && read.data.code === refusals.notFound.code;
}

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
  const [code, attr] = [textOf(body, 'code'), textOf(body, 'attr')];
  const words = [...(knownCodes.includes(code) ? [code] : []), ...(knownFields.has(attr) ? [attr] : [])];
  return [...words, ...namedScopes(body)].join(', ');
}

/** The scopes that a refusal's text names. */
export function namedScopes(body: unknown): string[] {
  const texts = sentences(body).map((text) => text.split(/[^a-z_:]+/));
  return scopes.filter((scope) => texts.some((words) => words.includes(scope)));
}

/**
 * The sentence with which a service says why it denies something, with `…` for each word that is not one of its usual words
 * for that: no name, address or id is among these. Undefined where too few of its words are.
 */
export function denialText(body: unknown): string | undefined {
  const [text] = sentences(body);
  const words = (text ?? '').split(/\s+/).map((word) => (denialWords.has(bareWord(word)) ? word : '…'));
  const isTold = words.filter((word) => word !== '…').length >= wordsToldMin;
  return isTold ? words.filter((word, index) => word !== '…' || words[index - 1] !== '…').join(' ') : undefined;
}

function sentences(body: unknown): string[] {
  return ['detail', 'error', 'message'].map((key) => textOf(body, key)).filter((text) => text !== '');
}

function textOf(body: unknown, key: string): string {
  const text: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, key) : undefined;
  return typeof text === 'string' ? text.slice(0, charactersMax) : '';
}

/** The word in small letters, without what stands around it in a sentence. */
function bareWord(word: string): string {
  let end = word.length;
  while (end > 0 && `"').,:;!`.includes(word.charAt(end - 1))) end -= 1;
  return word
    .slice(0, end)
    .toLowerCase()
    .replace(/^["'(]+/, '');
}

const wordsToldMin = 4;

/** The words of the public service's denials, as its source has them in 2026. */
const denialWords: ReadonlySet<string> = new Set(
  `a access action admin administrator an any api are based be by can cannot contact do does doesn't don't editor endpoints for
  forbid forbidden has have id in insufficient is its key keys level manager member members missing must need needs no not of on
  only or organization organization's organizations permission permissions permit permitted personal project project-based
  projects request requested require required requires resource resources role scope scoped scopes sufficient support supported
  team than that the this to use user using viewer with within without you your`.split(/\s+/),
);
