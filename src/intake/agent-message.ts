import { z } from 'zod';
import { isSignedBy } from '../ledger/note.ts';
import { readStrictJson } from './given-request.ts';

const id = z.string().min(1).max(200);
const time = z.iso.datetime({ offset: true });

/** What every signed message of an agent says of itself (Data Rights Protocol 1.0, section 2.05). */
export const Claims = z.looseObject({
  'agent-id': id,
  'business-id': id,
  'issued-at': time,
  'expires-at': time,
  'drp.version': z.string().optional(),
});

/** What an agent asks for (section 2.01). Other claims about the person are let be. */
export const Exercise = Claims.extend({
  exercise: z.string(),
  email: z.string().optional(),
  email_verified: z.boolean().optional(),
  'agent-request-id': z.string().min(1).max(200).optional(),
});

/** An agent whose messages are read, and the business that they have to be for. */
export type Reader = { agent: { id: string; verifyKey: string }; businessId: string | null; nowMs: number };

const signatureBytes = 64;
/** An agent's clock may be ahead by so much. */
const skewMs = 30_000;

/**
 * The claims of a signed message: base64 of an Ed25519 signature and the JSON that it is of, as libsodium's combined mode makes it. What is
 * wrong, in the order of section 3.07, as one sentence.
 */
export function readMessage<T extends typeof Claims>(
  body: Buffer,
  claims: T,
  { agent, businessId, nowMs }: Reader,
): z.output<T> | string {
  const text = body.toString('latin1').trim();
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return 'the message is not in base64';
  const signed = Buffer.from(text, 'base64');
  const [signature, message] = [signed.subarray(0, signatureBytes), signed.subarray(signatureBytes)];
  const key = { name: agent.id, publicKey: Buffer.from(agent.verifyKey, 'base64') };
  if (!isSignedBy(message, signature, key)) return 'the message is not signed with the key of this agent';
  const read = claims.safeParse(readStrictJson(message));
  if (!read.success) return 'the signed message is no JSON with the claims of this call';
  const { 'agent-id': agentId, 'business-id': business } = read.data;
  const [issuedMs, expiresMs] = [Date.parse(read.data['issued-at']), Date.parse(read.data['expires-at'])];
  if (agentId !== agent.id) return 'agent-id is another agent than the one of the token';
  if (business !== businessId) return 'business-id is another business';
  if (issuedMs > nowMs + skewMs) return 'issued-at is in the future; set the clock';
  // However long it counts: whoever sends it once more is told of the same request.
  return expiresMs <= nowMs ? 'the message has expired; sign it anew' : read.data;
}
