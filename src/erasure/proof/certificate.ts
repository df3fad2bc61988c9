import { z } from 'zod';
import { ConsumerName, MachineName, ReaderTable } from '../../contract/names.ts';
import { readJson } from '../../core/exact-json.ts';
import { canonicalJson } from '../../ledger/canonical-json.ts';
import { decisionFields, Time } from '../../ledger/record.ts';
import { TargetName } from '../../ledger/target.ts';
import { bases, evidences, origins, targetResults } from '../../ledger/vocabulary.ts';

/** The version of the format of certificates. */
export const certificateVersion = 1;

const hex = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().min(0);
const scan = z.strictObject({
  files: count,
  passed_over: count,
  bytes: count,
  needles: count,
  hits: count,
  left_out: count.optional(),
});

const seenTables = z.strictObject({
  assurance: z.enum(['attested', 'observed']),
  at: Time,
  report: hex.optional(),
  signer: hex.optional(),
  tables: z.array(ReaderTable),
});

/** A line of text, as an operator gives it in the settings. */
const statedText = z.string().regex(/^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u);

/** What no erasure by this program can prove. `wait_dropped` stands only where it dropped a wait. */
export const unprovable = [
  'wait_dropped',
  'service_event_store',
  'service_backups',
  'downstream_copies',
  'operator_backups',
  'block_device',
] as const;

/** How a target was erased, in the terms of NIST SP 800-88r2. */
const methods = ['below_clear', 'by_service'] as const;
export type Method = (typeof methods)[number];

/** What the operator says. No ledger shows it. */
const Stated = z.strictObject({
  /** When the last backup that may hold the person is gone; absent where the operator does not say it. */
  backups_until: Time.optional(),
  controller: z.strictObject({ name: statedText, contact: statedText.nullable() }).nullable(),
  /** Until when the dataset `deletions` lists the person's rows. */
  deletions_list_until: Time,
  /** The version of the program. */
  program: z.string().regex(/^\d+\.\d+\.\d+$/),
  service: z.strictObject({ url: statedText, project: z.string().regex(/^[\w-]{1,200}$/) }).nullable(),
});
export type Stated = z.infer<typeof Stated>;

/**
 * What was done for a request, and what that does not prove. A public format: enums, integers, times, uuids and hex, so
 * that no personal data can enter, but by what the operator says of itself. All of it but that follows from the ledger. Its words
 * are in `docs/verifier/certificate-words.mjs`.
 */
export const Certificate = z.strictObject({
  format_version: z.literal(certificateVersion),
  request: z.guid().lowercase(),
  generation: z.int().min(1),
  origin: z.enum(origins),
  basis: z.enum(bases),
  /** HMAC-SHA-256 of the subject's identifier under the request's own key; the requester has that key. */
  subject: hex,
  /** HMAC-SHA-256 of the reference under which an operator authorised the request, under the request's own key. */
  authorisation: hex,
  /** Who decided, how the person's identity was checked, and which exception allows to keep what is kept; each where it is stated. */
  ...decisionFields,
  received_at: Time,
  due_at: Time,
  fenced_at: Time,
  /** When a scan found nothing here any more. */
  locally_verified_at: Time,
  /** When this program last deleted the person at the service. */
  deleted_upstream_at: Time.nullable(),
  /** When the last target was reached. */
  ended_at: Time,
  /** Days of 24 hours, begun ones included, from `received_at` to `ended_at`. */
  days: count,
  is_late: z.boolean(),
  weakest_assurance: z.enum(evidences),
  /** Weakest first. */
  targets: z
    .array(
      z.strictObject({
        target: TargetName,
        result: z.enum(targetResults),
        assurance: z.enum(evidences),
        rows_before: count.nullable(),
        rows_removed: count.nullable(),
        ended_at: Time,
        /** Of `locked` and `partly_deleted`: as the entry says, null where it is unknown. */
        until: Time.nullable().optional(),
        /** Of `copies`: the machines that had one since the request was received. */
        machines: z.array(MachineName).min(1).optional(),
        method: z.enum(methods).nullable(),
      }),
    )
    .min(1),
  /**
   * The `control` scan before the purge had to find the person; the `verify` scan after it must not. `passed_over`: published
   * files that this scan did not read again, because a search of all their rows had just not found the person. `left_out`:
   * texts of the person that the scan had no room to search for; absent when it searched for all.
   */
  scan: z.strictObject({ control: scan.nullable(), verify: scan }),
  fence: z.strictObject({ epoch: count, entries: count }),
  ledger: z.strictObject({
    origin: z.string().regex(/^[a-z-]+\/[0-9a-f]+$/),
    entries: z.strictObject({ received: count, fenced: count, locally_verified: count }),
  }),
  /** When the service's weekly batch should have run; null where none was waited for. */
  events_expected_by: Time.nullable(),
  /**
   * The consumers of the published files, and when it was recorded that each has deleted too (null: not by then). `seen`: the tables in
   * which nobody erased was found, by a report that it signed or by this program, and when. `not_covered`: its tables that nobody saw.
   */
  consumers: z.array(
    z.strictObject({
      consumer: ConsumerName,
      acknowledged_at: Time.nullable(),
      seen: z.array(seenTables).optional(),
      not_covered: z.array(ReaderTable).optional(),
    }),
  ),
  not_proven: z.array(z.enum(unprovable)).min(unprovable.length - 1),
  stated: Stated,
});
export type Certificate = z.infer<typeof Certificate>;

/** A certificate as its bytes: canonical JSON (RFC 8785), so that the ledger's SHA-256 is of these and no others. */
export function certificateText(certificate: Certificate): string {
  return canonicalJson(certificate);
}

/** The certificate in a text; undefined when the text is none, or is not canonical JSON. */
export function readCertificate(text: string): Certificate | undefined {
  const read = Certificate.safeParse(readJson(text));
  return read.success && certificateText(read.data) === text ? read.data : undefined;
}
