import { z } from 'zod';
import { sha256 } from '../../core/digest.ts';
import { canonicalJson } from '../../ledger/canonical-json.ts';
import { Time } from '../../ledger/record.ts';
import { TargetName } from '../../ledger/target.ts';
import { assurances, bases, origins, targetResults } from '../../ledger/vocabulary.ts';
import {
  certificateSentences,
  formatVersions,
  newestVersion,
  type CertificateSentences,
  type FormatVersion,
} from './certificate-sentences.ts';
import { reachedAt, type EndedTarget, type RequestHistory } from '../../ledger/request-history.ts';
import { readJson } from '../../core/exact-json.ts';

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

/** What a certificate of a format version does not prove: a code, and the fixed sentence of that version. */
function notProvenIn({ neverProven, downstreamCopies, belowVerified, notReached }: CertificateSentences) {
  return z.union([
    ...entriesOf(neverProven).map(([code, says]) => z.strictObject({ code: z.literal(code), says })),
    z.strictObject({ code: z.literal('downstream_copies'), says: z.literal<string>(downstreamCopies), until: Time }),
    ...entriesOf(belowVerified).map(([assurance, says]) =>
      z.strictObject({
        code: z.literal('target_below_verified'),
        target: TargetName,
        assurance: z.literal(assurance),
        says,
      }),
    ),
    ...entriesOf(notReached).map(([result, says]) =>
      z.strictObject({ code: z.literal('target_not_reached'), target: TargetName, result: z.literal(result), says }),
    ),
  ]);
}

function entriesOf<K extends string>(sentences: Readonly<Partial<Record<K, string>>>) {
  return Object.entries<string>(sentences as Readonly<Record<string, string>>).map(
    ([key, says]) => [key as K, z.literal(says)] as const,
  );
}

const certificateIn = (version: FormatVersion) =>
  z.strictObject({
    format_version: z.literal(version),
    request: z.guid().lowercase(),
    generation: z.int().min(1),
    origin: z.enum(origins),
    basis: z.enum(bases),
    /** HMAC-SHA-256 of the subject's identifier under the request's own key; the requester has that key. */
    subject: hex,
    received_at: Time,
    due_at: Time,
    fenced_at: Time,
    /** When a scan found nothing here any more. */
    locally_verified_at: Time,
    /** When the last target was reached. */
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
    not_proven: z
      .array(notProvenIn(certificateSentences[version]))
      .min(Object.keys(certificateSentences[version].neverProven).length + 1),
  });

/**
 * What was done for a request, and what that does not prove, in any format version. A public format: enums, integers, times,
 * uuids, hex and fixed sentences, so that no personal data can enter. All of it but `until` follows from the ledger.
 */
export const Certificate = z.union(formatVersions.map(certificateIn));
export type Certificate = z.infer<typeof Certificate>;

/** The facts of a certificate that its request's history does not hold: the ledger's name, and when its row leaves the feed. */
export type IssueFacts = { ledgerOrigin: string; feedUntil: string };

/** A finished request's certificate; undefined for a history that is not whole. Same history, same certificate. */
export function deriveCertificate(
  history: RequestHistory,
  { ledgerOrigin, feedUntil }: IssueFacts,
  version: FormatVersion = newestVersion,
): Certificate | undefined {
  const { neverProven, downstreamCopies, ...ofTargets } = certificateSentences[version];
  const { fence, verified, verify, control, received, dueAt } = history;
  const certifiedAt = reachedAt(history);
  const targets = [...history.targets.values()].toSorted(
    (a, b) => assurances.indexOf(a.assurance) - assurances.indexOf(b.assurance) || (a.target < b.target ? -1 : 1),
  );
  const [weakest] = targets;
  if (!fence || !verified || !verify || !weakest || certifiedAt === undefined) return undefined;
  const { request, generation, origin, basis, subject } = history;
  const certificate: Certificate = {
    format_version: version,
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
      ...targets.flatMap((target) => notProvenOf(target, ofTargets)),
      { code: 'service_event_store', says: neverProven.service_event_store },
      { code: 'service_backups', says: neverProven.service_backups },
      { code: 'downstream_copies', says: downstreamCopies, until: feedUntil },
      { code: 'operator_backups', says: neverProven.operator_backups },
      { code: 'block_device', says: neverProven.block_device },
    ],
  };
  return Certificate.parse(certificate);
}

/** The certificate that was issued with this SHA-256, in its format version; undefined if nothing gives that hash. */
export function deriveIssuedText(history: RequestHistory, facts: IssueFacts, digest: string): string | undefined {
  return formatVersions
    .flatMap((version) => deriveCertificate(history, facts, version) ?? [])
    .map(certificateText)
    .find((text) => sha256(text) === digest);
}

/** A certificate as its bytes: canonical JSON (RFC 8785), so that the ledger's SHA-256 is of these and no others. */
export function certificateText(certificate: Certificate): string {
  return canonicalJson(certificate);
}

/** The certificate in a text, of any format version; undefined when the text is none, or is not canonical JSON. */
export function readCertificate(text: string): Certificate | undefined {
  const read = Certificate.safeParse(readJson(text));
  return read.success && certificateText(read.data) === text ? read.data : undefined;
}

/** Until when the dataset deletions lists the person's rows, as a certificate says. */
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

function notProvenOf(
  { target, result, assurance }: EndedTarget,
  { belowVerified, notReached }: Pick<CertificateSentences, 'belowVerified' | 'notReached'>,
): Certificate['not_proven'] {
  const says = Object.hasOwn(notReached, result) ? notReached[result as keyof typeof notReached] : undefined;
  if (says !== undefined)
    return [{ code: 'target_not_reached', target, result: result as keyof typeof notReached, says }];
  return assurance === 'verified'
    ? []
    : [{ code: 'target_below_verified', target, assurance, says: belowVerified[assurance] }];
}

function daysBegun(from: string, to: string): number {
  return Math.max(0, Math.ceil((Date.parse(to) - Date.parse(from)) / 86_400_000));
}
