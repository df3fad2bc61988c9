import { z } from 'zod';
import { canonicalJson } from '../../ledger/canonical-json.ts';
import { assurances, bases, origins, TargetName, targetResults, Time } from '../../ledger/record.ts';
import { reachedAt, type EndedTarget, type RequestHistory } from './request-history.ts';

const uuid = z.string().regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
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

/** What no erasure by this program can prove, whatever it did. */
const neverProven = {
  service_event_store: "That the service's event store no longer holds the person's events.",
  service_backups: "That the service's own backups no longer hold the person.",
  operator_backups:
    'That backups of the data folder, which whoever runs this program has made, no longer hold the person.',
  block_device:
    'That no remnant is left on the storage device below the files: on flash memory, and where the file system keeps copies, overwriting does not reach the old place.',
} as const;

const downstreamCopies =
  'That copies which others took of the published files no longer hold the person. The dataset deletions tells them until the time given; after it, nothing does.';

/** What is not proven of a target, by how far its end can be believed. */
const belowVerified = {
  not_verifiable: 'That this target is reached: nobody here can tell.',
  asserted_by_upstream: 'That this target is reached: the service says so, and nobody here can look.',
  observed:
    'That this target is reached: it looked so from outside, and no stored bytes were read that show it.',
} as const;

/** Targets that were left as they are. */
const notReached = {
  not_deletable_via_api:
    'This target is not reached: the service still has it, and offers no way to delete it.',
  kept: 'This target is not reached: it was left in place, as the request said.',
  still_present:
    'This target is not reached: the person was still there when the service was last asked, and the time of the request was over.',
} as const;

const NotProven = z.union([
  ...Object.entries(neverProven).map(([code, says]) =>
    z.strictObject({ code: z.literal(code as keyof typeof neverProven), says: z.literal(says) }),
  ),
  z.strictObject({
    code: z.literal('downstream_copies'),
    says: z.literal(downstreamCopies),
    until: Time,
  }),
  ...Object.entries(belowVerified).map(([assurance, says]) =>
    z.strictObject({
      code: z.literal('target_below_verified'),
      target: TargetName,
      assurance: z.literal(assurance as keyof typeof belowVerified),
      says: z.literal(says),
    }),
  ),
  ...Object.entries(notReached).map(([result, says]) =>
    z.strictObject({
      code: z.literal('target_not_reached'),
      target: TargetName,
      result: z.literal(result as keyof typeof notReached),
      says: z.literal(says),
    }),
  ),
]);

/**
 * What was done for a request, and what that does not prove. A public format: enums, integers, times, uuids, hex and fixed
 * sentences, so that no personal data can enter. All of it but `until` follows from the ledger.
 */
export const Certificate = z.strictObject({
  format_version: z.literal(1),
  request: uuid,
  generation: z.int().min(1),
  origin: z.enum(origins),
  basis: z.enum(bases),
  /** HMAC-SHA-256 under the request's own key, which the requester has: who is meant. */
  subject: hex,
  received_at: Time,
  due_at: Time,
  fenced_at: Time,
  /** When a scan had found nothing here any more. */
  locally_verified_at: Time,
  /** When the last thing was reached that this rests on. */
  certified_at: Time,
  /** Days of 24 hours, begun ones included, from `received_at` to `certified_at`. */
  days: count,
  is_late: z.boolean(),
  weakest_assurance: z.enum(assurances),
  /** Weakest first. */
  targets: z
    .array(
      z.strictObject({
        target: TargetName,
        result: z.enum(targetResults),
        assurance: z.enum(assurances),
        rows_before: count.nullable(),
        rows_removed: count.nullable(),
        ended_at: Time,
      }),
    )
    .min(1),
  /**
   * Before the purge the scan had to find the person, after it it must not. `passed_over`: published files that were not
   * read again, since a search of them had just found nobody. `left_out`: texts of the person that were not searched for,
   * since there was no room for them; none unless given.
   */
  scan: z.strictObject({ control: scan.nullable(), verify: scan }),
  fence: z.strictObject({ epoch: count, entries: count }),
  ledger: z.strictObject({
    origin: z.string().regex(/^[a-z-]+\/[0-9a-f]+$/),
    entries: z.strictObject({ received: count, fenced: count, locally_verified: count }),
  }),
  /** When the service's weekly batch should have run; null where none was waited for. */
  events_expected_by: Time.nullable(),
  not_proven: z.array(NotProven).min(Object.keys(neverProven).length + 1),
});
export type Certificate = z.infer<typeof Certificate>;

/** What a certificate says that is not on the ledger: which ledger that is, and how long the feed of deletions tells. */
export type CertificateSurroundings = { ledgerOrigin: string; feedUntil: string };

/** The certificate of a request that has reached everything; undefined where its history is not whole. Always the same. */
export function deriveCertificate(
  history: RequestHistory,
  { ledgerOrigin, feedUntil }: CertificateSurroundings,
): Certificate | undefined {
  const { fence, verified, verify, control, received, dueAt } = history;
  const certifiedAt = reachedAt(history);
  const targets = [...history.targets.values()].toSorted(
    (a, b) =>
      assurances.indexOf(a.assurance) - assurances.indexOf(b.assurance) || (a.target < b.target ? -1 : 1),
  );
  const [weakest] = targets;
  if (!fence || !verified || !verify || !weakest || certifiedAt === undefined) return undefined;
  const { request, generation, origin, basis, subject } = history;
  const certificate: Certificate = {
    format_version: 1,
    request,
    generation,
    origin,
    basis,
    subject,
    received_at: received.at,
    due_at: dueAt,
    fenced_at: fence.at,
    locally_verified_at: verified.at,
    certified_at: certifiedAt,
    days: daysBegun(received.at, certifiedAt),
    is_late: certifiedAt > dueAt,
    weakest_assurance: weakest.assurance,
    targets: targets.map(({ target, result, assurance, rowsBefore, rowsRemoved, endedAt }) => ({
      target,
      result,
      assurance,
      rows_before: rowsBefore,
      rows_removed: rowsRemoved,
      ended_at: endedAt,
    })),
    scan: { control: control && scanOf(control), verify: scanOf(verify) },
    fence: { epoch: fence.epoch, entries: fence.entries },
    ledger: {
      origin: ledgerOrigin,
      entries: { received: received.entry, fenced: fence.entry, locally_verified: verified.entry },
    },
    events_expected_by: history.eventsExpectedBy,
    not_proven: [
      ...targets.flatMap(notProvenOf),
      { code: 'service_event_store', says: neverProven.service_event_store },
      { code: 'service_backups', says: neverProven.service_backups },
      { code: 'downstream_copies', says: downstreamCopies, until: feedUntil },
      { code: 'operator_backups', says: neverProven.operator_backups },
      { code: 'block_device', says: neverProven.block_device },
    ],
  };
  return Certificate.parse(certificate);
}

/** A certificate as its bytes: canonical JSON (RFC 8785), so that the ledger's SHA-256 is of these and no others. */
export function certificateText(certificate: Certificate): string {
  return canonicalJson(certificate);
}

/** The certificate in a text; undefined when it is none, or not in its one spelling. */
export function readCertificate(text: string): Certificate | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const read = Certificate.safeParse(value);
  return read.success && certificateText(read.data) === text ? read.data : undefined;
}

/** Until when the feed of deletions tells of a person, as a certificate says. */
export function feedUntilOf({ not_proven: notProven }: Certificate): string | undefined {
  return notProven.find((item) => item.code === 'downstream_copies')?.until;
}

function scanOf({
  passedOver,
  leftOut,
  ...rest
}: NonNullable<RequestHistory['verify']>): Certificate['scan']['verify'] {
  return { ...rest, passed_over: passedOver, ...(leftOut === undefined ? {} : { left_out: leftOut }) };
}

function notProvenOf({ target, result, assurance }: EndedTarget): Certificate['not_proven'] {
  if (result === 'not_deletable_via_api' || result === 'kept' || result === 'still_present')
    return [{ code: 'target_not_reached', target, result, says: notReached[result] }];
  return assurance === 'verified'
    ? []
    : [{ code: 'target_below_verified', target, assurance, says: belowVerified[assurance] }];
}

function daysBegun(from: string, to: string): number {
  return Math.max(0, Math.ceil((Date.parse(to) - Date.parse(from)) / 86_400_000));
}
