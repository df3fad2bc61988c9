import { z } from 'zod';
import { namingKinds } from '../contract/given-identifier.ts';
import { count, outsideUrl, publicKey } from './setting-kinds.ts';

/** Who may send requests to the intake. Its keys stand here as their SHA-256 only: they are random, and cannot be found by that. */
export const Sender = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,30}$/, 'is a name of small letters, digits and -, such as privacy-desk'),
  keys: z
    .array(z.string().regex(/^[0-9a-f]{64}$/, 'is the SHA-256 of a key: 64 hex digits'))
    .max(2)
    .default([]),
  agent: z
    .strictObject({ id: z.string().regex(/^[\w.-]{1,200}$/), verifyKey: publicKey })
    .nullable()
    .default(null),
  kinds: z.array(z.enum(namingKinds)).min(1),
  perHour: count.max(1_000_000).default(100),
  outcome: z.boolean().default(false),
  project: z.string().nullable().default(null),
  callback: z
    .strictObject({ url: outsideUrl, secretFile: z.string().min(1) })
    .nullable()
    .default(null),
});
export type Sender = z.infer<typeof Sender>;

/** Whether no two senders have one key, or are one agent. */
export function haveOwnKeys(senders: readonly Sender[]): boolean {
  const keys = senders.flatMap(({ keys: own, agent }) => [...own, ...(agent ? [agent.id] : [])]);
  return new Set(keys).size === keys.length;
}
