import { z } from 'zod';
import { ConsumerName } from '../../contract/consumer.ts';
import { MachineName } from '../../contract/machine.ts';
import { readJson } from '../../core/exact-json.ts';
import { canonicalJson } from '../../ledger/canonical-json.ts';
import { Time } from '../../ledger/record.ts';
import { TargetName, type FixedTarget } from '../../ledger/target.ts';
import {
  bases,
  evidenceOf,
  evidences,
  origins,
  targetResults,
  type Evidence,
  type Origin,
  type TargetResult,
} from '../../ledger/vocabulary.ts';
import {
  certificateSentences,
  certificateVersion,
  datedResults,
  methods,
  type DatedResult,
} from './certificate-sentences.ts';

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

/** A line of text, as an operator gives it in the settings. */
const statedText = z.string().regex(/^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u);

const {
  neverProven,
  downstreamCopies,
  belowVerified,
  notReached,
  waitDropped,
  summary: written,
  legalGround,
  authorisedBy,
  method: methodSentences,
  ...plain
} = certificateSentences;

/** What a certificate does not prove: a code, and its fixed sentence. */
const NotProven = z.union([
  z.strictObject({ code: z.literal('wait_dropped'), says: z.literal(waitDropped), until: Time }),
  ...entriesOf(neverProven).map(([code, says]) => z.strictObject({ code: z.literal(code), says })),
  z.strictObject({ code: z.literal('downstream_copies'), says: z.literal(downstreamCopies), until: Time }),
  ...entriesOf(belowVerified).map(([assurance, says]) =>
    z.strictObject({
      code: z.literal('target_below_verified'),
      target: TargetName,
      assurance: z.literal(assurance),
      says,
    }),
  ),
  ...entriesOf(notReached).map(([result, says]) => {
    const fields = { code: z.literal('target_not_reached'), target: TargetName, result: z.literal(result), says };
    // Null where it is unknown.
    return isDated(result) ? z.strictObject({ ...fields, until: Time.nullable() }) : z.strictObject(fields);
  }),
]);

/** Whether a result is said together with a time. */
export function isDated(result: TargetResult): result is DatedResult {
  return datedResults.some((dated) => dated === result);
}

function entriesOf<K extends string>(sentences: Readonly<Partial<Record<K, string>>>) {
  return Object.entries<string>(sentences as Readonly<Record<string, string>>).map(
    ([key, says]) => [key as K, z.literal(says)] as const,
  );
}

/** What the operator says of itself. No ledger shows it. */
const Stated = z.strictObject({
  controller: z.strictObject({ name: statedText, contact: statedText.nullable() }).nullable(),
  /** The version of the program. */
  program: z.string().regex(/^\d+\.\d+\.\d+$/),
  service: z.strictObject({ url: statedText, project: z.string().regex(/^[\w-]{1,200}$/) }).nullable(),
});
export type Stated = z.infer<typeof Stated>;

const says = (sentences: readonly string[]) => z.enum(sentences as [string, ...string[]]);

/**
 * What was done for a request, and what that does not prove. A public format: enums, integers, times, uuids, hex and fixed sentences,
 * so that no personal data can enter, but by what the operator says of itself. All of it but that and `until` follows from the ledger.
 */
export const Certificate = z
  .strictObject({
    format_version: z.literal(certificateVersion),
    request: z.guid().lowercase(),
    generation: z.int().min(1),
    origin: z.enum(origins),
    basis: z.enum(bases),
    /** HMAC-SHA-256 of the subject's identifier under the request's own key; the requester has that key. */
    subject: hex,
    /** HMAC-SHA-256 of the reference under which an operator authorised the request, under the request's own key. */
    authorisation: hex,
    received_at: Time,
    due_at: Time,
    fenced_at: Time,
    /** When a scan found nothing here any more. */
    locally_verified_at: Time,
    /** When this program last deleted the person at the service. */
    deleted_upstream_at: Time.nullable(),
    /** When the last target was reached. */
    certified_at: Time,
    /** Days of 24 hours, begun ones included, from `received_at` to `certified_at`. */
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
          /** Of this request alone, also where others were erased with it. */
          rows_removed: count.nullable(),
          ended_at: Time,
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
    /** The consumers of the published files, and when it was recorded that each has deleted too; null: not by then. */
    consumers: z.array(z.strictObject({ consumer: ConsumerName, acknowledged_at: Time.nullable() })),
    not_proven: z.array(NotProven).min(Object.keys(neverProven).length + 1),
    stated: Stated,
    statements: z
      .array(
        z.union([
          z.strictObject({ code: z.literal('legal_ground'), says: says(Object.values(legalGround)) }),
          z.strictObject({ code: z.literal('authorised_by'), says: says(Object.values(authorisedBy)) }),
          z.strictObject({ code: z.literal('identity_check'), says: z.literal(plain.identityCheck) }),
          z.strictObject({ code: z.literal('exception'), says: z.literal(plain.exception) }),
          z.strictObject({
            code: z.literal('method'),
            method: z.enum(methods),
            says: says(Object.values(methodSentences)),
          }),
          z.strictObject({ code: z.literal('recipients'), says: z.enum([plain.recipients, plain.consumers]) }),
          z.strictObject({ code: z.literal('retention'), says: z.literal(plain.retention) }),
        ]),
      )
      .min(5),
    /** What was done, in one sentence. */
    summary: z.string(),
  })
  .refine((certificate) => certificate.summary === summaryOf(certificate));
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

/** What a certificate says that no ledger shows: until when the dataset deletions lists the rows, and what the operator states. */
export function statedFacts(certificate: Certificate): { feedUntil: string; stated: Stated } | undefined {
  const copies = certificate.not_proven.find((item) => item.code === 'downstream_copies');
  const feedUntil = copies && 'until' in copies ? copies.until : undefined;
  return feedUntil === undefined ? undefined : { feedUntil, stated: certificate.stated };
}

/** What a summary is made of: fields of a certificate. */
export type Summarised = {
  origin: Origin;
  locally_verified_at: string;
  due_at: string;
  is_late: boolean;
  deleted_upstream_at: string | null;
  events_expected_by: string | null;
  targets: readonly { target: TargetName; result: TargetResult; assurance: Evidence; ended_at: string }[];
};

const inOrder = ['upstream.person', 'upstream.events', 'upstream.recordings'] as const satisfies FixedTarget[];
const parts: Readonly<Record<string, string>> = written;

/** What was done for a request, in one sentence. It names each target at the service, and says where one was not reached. */
export function summaryOf(certificate: Summarised): string {
  const { origin, locally_verified_at: here, due_at: dueAt, is_late: isLate, targets } = certificate;
  const { deleted_upstream_at: deletedAt } = certificate;
  const clauses = [clause(written.here, here)];
  const told = new Set<TargetName>();
  for (const name of inOrder) {
    const end = targets.find(({ target }) => target === name);
    if (!end) continue;
    const isRepeated = end.target === 'upstream.person' && end.result === 'already_absent' && deletedAt !== null;
    const isUnasked = end.result === 'kept' && origin !== 'manual';
    const part = isUnasked ? written.kept_unasked : parts[`${name} ${end.result}`];
    if (part === undefined) continue;
    told.add(name);
    clauses.push(isRepeated ? clause(written.deleted_before, deletedAt) : clause(part, end.ended_at));
  }
  if (targets.some((end) => !told.has(end.target) && isLeft(end))) clauses.push(written.not_reached);
  const droppedUntil = droppedWait(certificate);
  if (droppedUntil !== null) clauses.push(clause(written.wait_dropped, droppedUntil));
  if (isLate) clauses.push(clause(written.late, dueAt));
  return `${clauses.join('; ')}.`;
}

/**
 * Until when the events should have been deleted, where that was not waited for; null where it was. Of a person whom this program
 * has not deleted, it has deleted no events either: it waited for a deletion of somebody else, which covers a part at most.
 */
export function droppedWait(certificate: Summarised): string | null {
  const { targets, events_expected_by: expectedBy, deleted_upstream_at: deletedAt } = certificate;
  const endOf = (name: FixedTarget) => targets.find(({ target }) => target === name);
  const events = endOf('upstream.events');
  if (endOf('upstream.person')?.result === 'already_absent' && deletedAt === null) return null;
  const isOpen = events?.result === 'not_verifiable' || events?.result === 'unconfirmed';
  return expectedBy !== null && isOpen && events.ended_at < expectedBy ? expectedBy : null;
}

function isLeft({ result, assurance }: Summarised['targets'][number]): boolean {
  return evidenceOf({ result, assurance }) === 'not_reached';
}

function clause(part: string, at: string): string {
  return part.replace('{day}', at.slice(0, 10));
}
