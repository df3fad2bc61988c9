import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../../core/atomic-file.ts';
import { systemCode, usageError } from '../../core/errors.ts';
import { isWithin, makeFolder, readWholeFile } from '../../core/folder.ts';
import type { JobContext } from '../../job/job-context.ts';
import { isCheckpointSigned, ledgerOrigin, listCheckpointSizes, publicKeysAfter } from '../../ledger/checkpoint.ts';
import type { RequestHistory } from '../../ledger/request-history.ts';
import { ledgerFolder } from '../../ledger/entry-file.ts';
import { proveEntries } from '../../ledger/prove-entries.ts';
import { Time } from '../../ledger/record.ts';
import { refusalReasons } from '../../ledger/vocabulary.ts';
import { findRequest } from '../../mirror/erasure-requests.ts';
import { boxDetailsOf, isSubject, type GivenIdentifier } from './box.ts';

const how =
  'Keep this file, and keep it secret. It proves that the request was received: the entries below are in the ledger, as their proofs and the signed checkpoint show, and `node verify.mjs` with this file checks them. The ledger holds only an HMAC of the identifier, under the key below, which is destroyed here once the request is sealed. `analytics-mirror audit open` with this file and the identifier that the request was made with shows which entry and which certificate are about it. Every holder of this file can find the identifier in a list of identifiers.';

const nothingHeld =
  'Nothing is held about a person of this identifier: not in the mirror, not in the published files that were searched, and the service knows no such person, as far as it can be asked by this identifier.';

/**
 * What a requester is given: the request's own key, with which the ledger's entry can be held against an identifier; and the
 * proof that its entries are on the ledger, with the entries that hand over its keys. This can be held against the operator.
 */
export const Receipt = z.strictObject({
  format_version: z.literal(1),
  request: z.guid(),
  received_at: Time,
  /** The name of the ledger. */
  ledger: z.string(),
  subject_key: z.string().regex(/^[0-9a-f]{64}$/),
  how: z.literal(how),
  /** Of a refused request: what was searched, and that nothing was found. */
  answer: z
    .strictObject({
      refused_at: Time,
      reason: z.enum(refusalReasons),
      says: z.literal(nothingHeld),
      searched: z.strictObject({ mirror: z.literal(true), published_files: z.int().min(0), service: z.literal(true) }),
      erased_by: z.guid().nullable(),
    })
    .optional(),
  entries: z.array(z.strictObject({ line: z.string(), proof: z.string() })).min(1),
  public_keys: z.string(),
});
export type Receipt = z.infer<typeof Receipt>;

/** The key of a request, as long as it is kept. */
export type KeptKey = { request: string; subjectKey: string };

/** The keys of requests whose identifiers are kept. A request from a restored copy has none: its key is another. */
export function keysOf(context: JobContext, ids: readonly string[]): KeptKey[] {
  const ledger = context.ledger();
  return ids.flatMap((id) => {
    const box = boxDetailsOf(context, id);
    const history = ledger.histories.of(id);
    return box && history && isSubject(history.subject, box) ? [{ request: id, subjectKey: box.subjectKey }] : [];
  });
}

/** A request about which a receipt is written, and its own entries. */
type Proved = KeptKey & { history: RequestHistory; refused: RequestHistory['refused']; own: readonly number[] };

/**
 * The receipts of requests with these keys, each under the first checkpoint that covers it: the same receipt whenever it is asked for.
 * One is signed now where none covers them. `tells`: whether they say too that a request was refused.
 */
export function signReceipts(
  context: Pick<JobContext, 'db' | 'settings' | 'ledger'>,
  keys: readonly KeptKey[],
  tells: 'all' | 'received' = 'all',
): Receipt[] {
  const ledger = context.ledger();
  const about = keys.flatMap((key): Proved[] => {
    const history = ledger.histories.of(key.request);
    const refused = tells === 'all' ? (history?.refused ?? null) : null;
    const marks = [history?.received, refused].flatMap((mark) => mark ?? []);
    return history ? [{ ...key, history, refused, own: marks.map(({ entry }) => entry) }] : [];
  });
  const lastOf = ({ own }: Proved): number => Math.max(...own);
  const folder = ledgerFolder(context.settings.dataDir);
  /** The first checkpoint that covers each. One that is not signed proves nothing to an outsider. */
  const cover = (): Map<number | undefined, Proved[]> => {
    const sizes = listCheckpointSizes(folder);
    const isSigned = (size: number): boolean => isCheckpointSigned(folder, ledger.rotations(), size);
    return Map.groupBy(about, (each) => sizes.find((size) => size > lastOf(each) && isSigned(size)));
  };
  let bySize = cover();
  if (bySize.has(undefined)) {
    ledger.checkpoint();
    bySize = cover();
  }
  const receipts = new Map([...bySize].flatMap(([size, group]) => receiptsUnder(context, group, size)));
  return about.flatMap(({ request }) => receipts.get(request) ?? []);
}

/** Receipts under the checkpoint of one size, by their requests. */
function receiptsUnder(
  context: Pick<JobContext, 'db' | 'settings' | 'ledger'>,
  about: readonly Proved[],
  size: number | undefined,
): [request: string, Receipt][] {
  const ledger = context.ledger();
  const folder = ledgerFolder(context.settings.dataDir);
  const rotations = ledger.rotations().flatMap(({ seq }) => (seq < (size ?? 0) ? [seq] : []));
  const numbers = [...new Set([...about.flatMap(({ own }) => own), ...rotations])].toSorted((a, b) => a - b);
  const { entries } = proveEntries(folder, ledger, numbers, size);
  const proved = new Map(entries.map((entry, at) => [numbers[at], entry]));
  const origin = ledgerOrigin(context.settings.dataDir, ledger);
  const publicKeys = publicKeysAfter(folder, rotations.length);
  return about.map(({ request, subjectKey, history, refused, own }) => [
    request,
    {
      format_version: 1,
      request,
      received_at: history.received.at,
      ledger: origin,
      subject_key: subjectKey,
      how,
      answer: refused ? answerOf(context, history) : undefined,
      entries: [...own, ...rotations].toSorted((a, b) => a - b).flatMap((seq) => proved.get(seq) ?? []),
      public_keys: publicKeys,
    },
  ]);
}

/** The answer to a request that was refused. */
function answerOf(
  { db }: Pick<JobContext, 'db'>,
  { request, refused, reason: why }: RequestHistory,
): Receipt['answer'] {
  const reason = refusalReasons.find((known) => known === why);
  if (refused === null || reason === undefined) return undefined;
  const { searchedFiles = null, erasedBy = null } = findRequest(db, request) ?? {};
  return {
    refused_at: refused.at,
    reason,
    says: nothingHeld,
    searched: { mirror: true, published_files: searchedFiles ?? 0, service: true },
    erased_by: erasedBy,
  };
}

/** Writes a receipt for its owner's eyes only (mode 0600). Throws the system's error. */
export function writeReceipt(path: string, receipt: Receipt): void {
  replaceFile(path, receiptText(receipt));
}

/** A receipt's one spelling: a field that stands twice, or anything else beside it, spells it otherwise. */
export function receiptText(receipt: unknown): string {
  return `${JSON.stringify(receipt, null, 2)}\n`;
}

/** Writes each receipt into a folder, made where there is none. Returns their paths. */
export function writeReceipts(folder: string, receipts: readonly Receipt[]): string[] {
  makeFolder(folder);
  return receipts.map((receipt) => {
    const path = join(folder, `receipt-${receipt.request}.json`);
    writeReceipt(path, receipt);
    return path;
  });
}

/** Throws `usage` for a place in the data folder: the key of a request must not outlive it there. */
export function refuseInside(dataDir: string, path: string): void {
  if (!isWithin(dataDir, path)) return;
  throw usageError(
    'what is given away cannot lie in the data folder',
    'name a place elsewhere: a receipt would show, after the request is sealed, which person it was about',
  );
}

/** Reads a receipt. Throws `usage` when it is none. */
export function readReceipt(path: string): Receipt {
  try {
    if (existsSync(path)) {
      const text = readWholeFile(path).toString();
      const value: unknown = JSON.parse(text);
      const read = Receipt.safeParse(value);
      if (read.success && receiptText(value) === text) return read.data;
    }
  } catch (error) {
    if (!(error instanceof SyntaxError) && systemCode(error) === undefined) throw error;
  }
  throw usageError(
    'that is no receipt',
    'name the file receipt-<request>.json, as `erase add --receipts` or `erase receipt` wrote it',
  );
}

/** Whether a subject's HMAC is the one of these identifiers, all of them or one, under a receipt's key. */
export function isAbout(
  { subject_key: subjectKey }: Pick<Receipt, 'subject_key'>,
  subject: string,
  given: readonly GivenIdentifier[],
): boolean {
  return [[...given], ...given.map((one) => [one])].some((named) => isSubject(subject, { subjectKey, given: named }));
}
