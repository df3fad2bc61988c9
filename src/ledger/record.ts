import { z } from 'zod';
import { publishedDatasets } from '../contract/datasets.ts';
import { identifierKinds } from '../contract/identity.ts';
import { ConsumerName, MachineName, ReaderTable } from '../contract/names.ts';
import { isPossibleEnd } from './possible-ends.ts';
import { TargetName } from './target.ts';
import {
  assurances,
  attentionReasons,
  bases,
  boundKeys,
  boundParts,
  deciders,
  exceptions,
  heldReasons,
  identityChecks,
  origins,
  publicationCauses,
  refusalReasons,
  targetResults,
} from './vocabulary.ts';

const uuid = z.guid().lowercase();
const hex = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().min(0);
const ifTrue = z.literal(true).optional();
/** A copy of a project's state on a machine of a cluster: random, and another one each time that a copy is made. */
const CopyId = z.string().regex(/^[0-9a-f]{32}$/);

/** A time that there is, in UTC, to the millisecond. */
export const Time = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  // The 30th of February is read as a day of March, and so written otherwise.
  .refine((text) => !Number.isNaN(Date.parse(text)) && new Date(text).toISOString() === text);

const about = { request: uuid, generation: z.int().min(1) };
const requests = z.array(uuid).min(1);

/** Published snapshots and the SHA-256 of their `manifest.json`; null where a snapshot is gone. */
const snapshots = z.array(
  z.strictObject({
    dataset: z.enum(publishedDatasets),
    snapshot_id: z.string().regex(/^\d{8}T\d{6}\.\d{3}Z$/),
    manifest: hex.nullable(),
  }),
);

/** Names, each once, in order. */
const consumers = z
  .array(ConsumerName)
  .min(1)
  .refine((names) => names.every((name, at) => at === 0 || (names[at - 1] ?? '') < name));

const seenTables = { tables: z.array(ReaderTable).min(1), not_covered: z.array(ReaderTable) };

/**
 * What was seen of a consumer's tables: in `tables` a control row was found, and nobody erased. By the consumer, whose report (its
 * SHA-256) is signed with its SSH key (the SHA-256 of that); or by this program. `not_covered`: other tables that can hold people.
 */
const Seen = z.discriminatedUnion('assurance', [
  z.strictObject({ assurance: z.literal('attested'), report: hex, signer: hex, ...seenTables }),
  z.strictObject({ assurance: z.literal('observed'), ...seenTables }),
]);
export type Seen = z.infer<typeof Seen>;

/** The tables of consumers that can hold people. */
const expected = z.array(z.strictObject({ consumer: ConsumerName, tables: seenTables.tables })).min(1);

/** An identifier that is fenced, by its MAC, encrypted under the restore key. */
const fenceEntry = z.strictObject({ kind: z.enum(identifierKinds), encrypted: hex });

/** The fields with which an operator states how a request was decided. */
export const decisionFields = {
  decided_by: z.enum(deciders).optional(),
  identity: z.enum(identityChecks).optional(),
  exception: z.enum(exceptions).optional(),
};
const Decision = z.strictObject(decisionFields);
export type Decision = z.infer<typeof Decision>;

/** What a record says of the decision about its request. */
export function decisionOf({ decided_by, identity, exception }: Decision): Decision {
  return {
    ...(decided_by === undefined ? {} : { decided_by }),
    ...(identity === undefined ? {} : { identity }),
    ...(exception === undefined ? {} : { exception }),
  };
}

/** What is recorded of an erasure, by its `type`. Enums, integers, times, uuids and hex only: no text is free. */
export const LedgerRecord = z.discriminatedUnion('type', [
  /** `subject`, `authorisation`: HMAC-SHA-256 under the request's own key of who asks to be erased, and who allowed it. */
  z.strictObject({
    type: z.literal('received'),
    ...about,
    origin: z.enum(origins),
    basis: z.enum(bases),
    subject: hex,
    authorisation: hex,
    delete_events: z.boolean(),
    due_at: Time,
    ...decisionFields,
  }),
  /** Somebody asks for access to what is held about them: to be told, not to be erased. */
  z.strictObject({
    type: z.literal('asked'),
    ...about,
    subject: hex,
    authorisation: hex,
    due_at: Time,
    identity: decisionFields.identity,
  }),
  /** An operator says that who asked for access was answered; the identifiers of the request are destroyed. */
  z.strictObject({ type: z.literal('answered'), ...about }),
  /** What was found, before anything was done. */
  z.strictObject({
    type: z.literal('scoped'),
    ...about,
    persons: count,
    distinct_ids: count,
    recordings: count,
    quarantined: count,
    files: count,
  }),
  z.strictObject({ type: z.literal('held'), ...about, reason: z.enum(heldReasons) }),
  z.strictObject({ type: z.literal('approved'), ...about }),
  /** The basis was mended, the HMAC of who allowed it, or how it was decided. The request's own words are never here. */
  z.strictObject({
    type: z.literal('amended'),
    ...about,
    basis: z.enum(bases),
    authorisation: hex.optional(),
    ...decisionFields,
  }),
  z.strictObject({ type: z.literal('refused'), ...about, reason: z.enum(refusalReasons) }),
  z.strictObject({ type: z.literal('cancelled'), ...about }),
  /**
   * Intent: the identifiers of these MACs are about to be fenced, and the rows that they match to leave the mirror. `continued`: they are
   * fenced together with those of the `fencing` before it. `served_at`: the service's time then, as far as it was told.
   */
  z.strictObject({
    type: z.literal('fencing'),
    ...about,
    epoch: count,
    fence: z.array(fenceEntry).min(1),
    continued: ifTrue,
    served_at: Time.optional(),
  }),
  /** Result: the fence of that epoch stands. */
  z.strictObject({ type: z.literal('fenced'), ...about, epoch: count }),
  /** Intent: a target is about to be acted upon, for all of the requests at once. */
  z.strictObject({ type: z.literal('intent'), requests, target: TargetName }),
  /** Result of what was intended. Rows before, and how many of each of the requests were taken out. */
  z
    .strictObject({
      type: z.literal('result'),
      requests,
      target: TargetName,
      result: z.enum(targetResults),
      assurance: z.enum(assurances),
      rows_before: count.optional(),
      rows_removed: count.optional(),
      /** Of what is `locked`: until when, where that is known. Of `partly_deleted`: up to when events were deleted. */
      until: Time.optional(),
      /** Of `copies`: the machines that held the project since the request was received, in order. */
      machines: z.array(MachineName).min(1).max(1000).optional(),
    })
    .refine(isPossibleEnd),
  /** A scan: `control` before the purge has to find the values, `verify` after it must not. */
  z.strictObject({
    type: z.literal('scan'),
    requests,
    phase: z.enum(['control', 'verify']),
    files: count,
    bytes: count,
    /** Pieces of texts that were searched for, and that no other person's rows hold. */
    needles: count,
    hits: count,
    /** Published files that were not read, because a search had just found no subject in them. */
    passed_over: count.optional(),
    /** Texts of the person, at most, that were not searched for: there was no room for them. None unless given. */
    left_out: count.optional(),
  }),
  /** A scan found nothing here any more. `consumers`: those of the published files, which have to delete the person too. */
  z.strictObject({
    type: z.literal('locally_verified'),
    ...about,
    consumers: consumers.optional(),
    expected: expected.optional(),
  }),
  /** The service has taken the deletion of the events; by when its weekly batch should have run. */
  z.strictObject({ type: z.literal('awaiting_upstream'), ...about, events_expected_by: Time }),
  z.strictObject({ type: z.literal('attention'), ...about, target: TargetName, reason: z.enum(attentionReasons) }),
  /** `unnamed`: the request's identifiers are destroyed, so its person is not fenced anew: the fence from before stands for it. */
  z.strictObject({ type: z.literal('reopened'), ...about, reason: z.enum(attentionReasons), unnamed: ifTrue }),
  /** `certificate`: SHA-256 of the certificate's bytes; null where none was made. */
  z.strictObject({ type: z.literal('certified'), ...about, certificate: hex.nullable() }),
  /** The identifiers of the request are destroyed. */
  z.strictObject({ type: z.literal('sealed'), ...about }),
  /** The fence of a request was lifted. `reason`: an HMAC of the reason that was given. */
  z.strictObject({ type: z.literal('readmitted'), ...about, reason: hex, entries: count }),
  /**
   * An operator recorded that a consumer of the published files has deleted too. `note`: an HMAC of the reference given. `seen`: what
   * that rests on beside a word.
   */
  z.strictObject({
    type: z.literal('acknowledged'),
    ...about,
    consumer: ConsumerName,
    note: hex.optional(),
    seen: Seen.optional(),
  }),
  /** An older database was brought up to the ledger's epoch; so many rows had to leave it again. */
  z.strictObject({ type: z.literal('replayed'), epoch_from: count, epoch_to: count, rows: count }),
  /**
   * An exercise: an invented person was erased, by the same program in a folder of its own. `report`: SHA-256 of the report.
   */
  z.strictObject({ type: z.literal('drill'), outcome: z.enum(['passed', 'failed']), steps: count, report: hex }),
  /** Intent: these manifests are about to stand. */
  z.strictObject({ type: z.literal('publishing'), snapshots: snapshots.min(1) }),
  /** Result: these manifests stand. */
  z.strictObject({ type: z.literal('published'), cause: z.enum(publicationCauses), snapshots }),
  /** The check value of a key: another key has another one, and the value does not tell the key. */
  z.strictObject({ type: z.literal('key_bound'), key: z.enum(boundKeys), check: z.string().regex(/^[0-9a-f]{32}$/) }),
  /** So many things on disk or in the mirror were not as the ledger says. */
  z.strictObject({ type: z.literal('differs'), part: z.enum(boundParts), items: count }),
  /** They were brought in line with the ledger. */
  z.strictObject({ type: z.literal('mended'), part: z.enum(boundParts), items: count }),
  /**
   * Later checkpoints are signed with another key. Keys are raw Ed25519 public keys; `signature` is Ed25519 of the new
   * key's vkey text and a newline, under the old key.
   */
  z.strictObject({
    type: z.literal('key_rotated'),
    old_key: hex,
    new_key: hex,
    signature: z.string().regex(/^[0-9a-f]{128}$/),
  }),
  /** From here on this machine holds the project, and has a copy of its state. `token` fences the one before. */
  z.strictObject({ type: z.literal('taken_over'), machine: MachineName, token: count, copy: CopyId }),
  /** A machine began to make a copy, and did not take over. */
  z.strictObject({ type: z.literal('copy_made'), machine: MachineName, copy: CopyId }),
  /** The machine that had a copy has deleted it. */
  z.strictObject({ type: z.literal('copy_gone'), copy: CopyId }),
  /** An operator said that a copy is gone, with its disk. */
  z.strictObject({ type: z.literal('copy_forgotten'), copy: CopyId }),
]);
export type LedgerRecord = z.infer<typeof LedgerRecord>;

/** A record that is about requests. */
export type RequestRecord = Extract<LedgerRecord, { request: string } | { requests: string[] }>;

/** The requests that a record is about; none for a record about something else. */
export function requestsOf(record: LedgerRecord): readonly string[] {
  if ('requests' in record) return record.requests;
  return 'request' in record ? [record.request] : [];
}

/** Whether a record is about requests. */
export function isOfRequest<R extends LedgerRecord>(record: R): record is Extract<R, RequestRecord> {
  return 'request' in record || 'requests' in record;
}

/** No entry that this program writes has a longer list. */
const itemsMax = 5000;

/**
 * A record as it is written: one whose list is too long for a line is split into several, which say the same together. Each
 * is about a part of the list.
 */
export function* splitRecord(record: LedgerRecord): Generator<LedgerRecord> {
  if ('requests' in record) for (const requests of partsOf(record.requests)) yield { ...record, requests };
  else if ('snapshots' in record) for (const snapshots of partsOf(record.snapshots)) yield { ...record, snapshots };
  else if (record.type === 'fencing')
    for (const [index, fence] of partsOf(record.fence).entries())
      yield { ...record, fence, ...(index > 0 ? { continued: true as const } : {}) };
  else yield record;
}

function partsOf<T>(items: readonly T[]): T[][] {
  const parts: T[][] = [];
  for (let start = 0; start === 0 || start < items.length; start += itemsMax)
    parts.push(items.slice(start, start + itemsMax));
  return parts;
}
