import { z } from 'zod';
import { trimBlanks } from '../contract/email.ts';
import { identifierForms, namingKinds, type NamingKind } from '../contract/given-identifier.ts';
import { bases, identityChecks } from '../ledger/vocabulary.ts';

/** The most bytes of a body. */
export const bodyBytesMax = 65_536;

/** The header that names a request, so that it can be sent again: printable ASCII without blanks. */
export const idempotencyKeyForm = /^[\x21-\x7e]{16,200}$/;

const own = ['deleted_upstream', 'restored_backup'] as const;

/** The content of a request, as a sender writes it in JSON. */
export const GivenRequest = z.strictObject({
  type: z.literal('erase').describe('What is asked for.'),
  identifier: z
    .strictObject({
      kind: z.enum(namingKinds),
      value: z
        .string()
        .min(1)
        .max(1000)
        .describe('Of a uuid, an id, a distinct id or an e-mail address, as the service has it.'),
    })
    .describe('Who is meant.'),
  basis: z.enum(bases).exclude(own).default('consumer_request').describe('The legal basis.'),
  reference: z
    .string()
    .regex(/^[A-Za-z0-9._:#-]{1,32}$/)
    .optional()
    .describe('A ticket of the sender, never the name of a person.'),
  keep_events: z.boolean().default(false).describe('Leaves the events of the person at the service.'),
  identity: z.enum(identityChecks).optional().describe('How the sender has checked who asks.'),
});
export type GivenRequest = z.output<typeof GivenRequest>;

/** Why a body is not taken. */
export type Refusal = 'not_json' | 'not_a_request' | 'kind_not_allowed' | 'no_such_identifier';

/** Reads a body. A name that stands twice, other bytes than UTF-8 and a text that is no Unicode are refused: two readers could differ. */
export function readRequest(body: Buffer, kinds: readonly NamingKind[]): GivenRequest | Refusal {
  const value = readStrictJson(body);
  if (value === undefined) return 'not_json';
  const read = GivenRequest.safeParse(value);
  if (!read.success) return 'not_a_request';
  const { kind, value: named } = read.data.identifier;
  if (!kinds.includes(kind)) return 'kind_not_allowed';
  // A blank at the edge of a distinct id makes it another one: nobody can be asked whether it is meant.
  if (kind === 'distinct_id' && trimBlanks(named) !== named) return 'no_such_identifier';
  const parsed = identifierForms[kind].safeParse(trimBlanks(named));
  return parsed.success ? { ...read.data, identifier: { kind, value: parsed.data } } : 'no_such_identifier';
}

/** The value of a JSON text; undefined for what is none, or could be read in two ways. */
function readStrictJson(body: Buffer): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
    const value: unknown = JSON.parse(text);
    const texts = text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g);
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
