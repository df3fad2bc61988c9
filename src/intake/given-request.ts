import { z } from 'zod';
import { identifierForms, type NamingKind } from '../contract/given-identifier.ts';
import { bases, identityChecks } from '../ledger/vocabulary.ts';

/** The most bytes of a body. */
export const bodyBytesMax = 65_536;

/** The header that names a request, so that it can be sent again: printable ASCII without blanks. */
export const idempotencyKeyForm = /^[\x21-\x7e]{16,200}$/;

const own = ['deleted_upstream', 'restored_backup'] as const;

/**
 * An identifier, with no blank at an edge: with the blank a distinct id is another one, and here nobody can be asked which is meant. No
 * null byte either.
 */
const Identifier = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('uuid'), value: identifierForms.uuid }),
  z.strictObject({ kind: z.literal('id'), value: identifierForms.id }),
  z.strictObject({
    kind: z.literal('distinct_id'),
    // oxlint-disable-next-line no-control-regex -- a null byte is what it refuses
    value: identifierForms.distinct_id.regex(/^[^\s\u0000\u0085](?:[^\u0000]*[^\s\u0000\u0085])?$/),
  }),
  // oxlint-disable-next-line no-control-regex -- a null byte is what it refuses
  z.strictObject({ kind: z.literal('email'), value: identifierForms.email.regex(/^[^\u0000\u0085]+$/) }),
]);

/** What every request says. */
const about = {
  identifier: Identifier.describe('Who is meant, as the service has it.'),
  reference: z
    .string()
    .regex(/^[A-Za-z0-9._:#-]{1,32}$/)
    .optional()
    .describe('A ticket of the sender, never the name of a person.'),
  identity: z.enum(identityChecks).optional().describe('How the sender has checked who asks.'),
};

/** The content of a request, as a sender writes it in JSON. */
export const GivenRequest = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('erase').describe('The person is to be erased.'),
    ...about,
    basis: z.enum(bases).exclude(own).default('consumer_request').describe('The legal basis.'),
    keep_events: z.boolean().default(false).describe('Leaves the events of the person at the service.'),
  }),
  z.strictObject({ type: z.literal('access').describe('The person is to be told what is held.'), ...about }),
]);
export type GivenRequest = z.output<typeof GivenRequest>;

/** Why a body is not taken. */
export type Refusal = 'not_json' | 'not_a_request' | 'kind_not_allowed';

/** Reads a body. A name that stands twice, other bytes than UTF-8 and a text that is no Unicode are refused: two readers could differ. */
export function readRequest(body: Buffer, kinds: readonly NamingKind[]): GivenRequest | Refusal {
  const value = readStrictJson(body);
  if (value === undefined) return 'not_json';
  const read = GivenRequest.safeParse(value);
  if (!read.success) return 'not_a_request';
  return kinds.includes(read.data.identifier.kind) ? read.data : 'kind_not_allowed';
}

/** The value of a JSON text; undefined for what is none, or could be read in two ways. */
export function readStrictJson(body: Buffer): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
    const value: unknown = JSON.parse(text);
    // A text without an end is taken to the end of all, so that no text is looked at twice.
    const texts = text.matchAll(/"(?:[^"\\]|\\.)*(?:"(\s*:)?)?/g);
    const names = [...texts].filter(([, colon]) => colon !== undefined).length;
    return names === countNames(value) && isWellFormed(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function countNames(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inside = Object.values(value).reduce<number>((sum, each) => sum + countNames(each), 0);
  return inside + (Array.isArray(value) ? 0 : Object.keys(value).length);
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  return typeof value !== 'object' || value === null || Object.values(value).every(isWellFormed);
}
