import { existsSync, readFileSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../../core/atomic-file.ts';
import { AppError, systemCode } from '../../core/errors.ts';
import { makeFolder } from '../../core/folder.ts';
import type { JobContext } from '../../job/job-context.ts';
import { ledgerOrigin } from '../../ledger/checkpoint.ts';
import { Time } from '../../ledger/record.ts';
import { refusalReasons } from '../../ledger/vocabulary.ts';
import { findRequest } from '../../mirror/erasure-requests.ts';
import { boxOf, isSubject, type GivenIdentifier } from './box.ts';

const how =
  'Keep this file. The ledger holds of this request only an HMAC under the key below, which is destroyed here once the request is sealed. `analytics-mirror audit open` with this file and the identifier that the request was made with shows which entry and which certificate are about it; nobody can without both.';

const nothingHeld =
  'Nothing is held about a person of this identifier: not in the mirror, not in the published files that were searched, and the service was asked and knows no such person.';

/** What a requester is given: the request's own key, with which the ledger's entry can be held against an identifier. */
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
});
export type Receipt = z.infer<typeof Receipt>;

/** The receipts of requests whose identifiers are kept. A request from a restored copy has none: its key is another. */
export function receiptsOf(context: JobContext, ids: readonly string[]): Receipt[] {
  const ledger = context.ledger();
  return ids.flatMap((id) => {
    const box = boxOf(context, id);
    const history = ledger.histories.of(id);
    if (!box || !history || !isSubject(history.subject, box)) return [];
    return [
      {
        format_version: 1,
        request: id,
        received_at: history.received.at,
        ledger: ledgerOrigin(context.settings.dataDir, ledger),
        subject_key: box.subjectKey,
        how,
      },
    ];
  });
}

/** The receipt of a request that was refused meanwhile, with the answer to it; any other as it is. */
export function withAnswer({ db }: Pick<JobContext, 'db'>, receipt: Receipt): Receipt {
  const request = findRequest(db, receipt.request);
  const reason = refusalReasons.find((known) => known === request?.reason);
  if (!request || request.refusedAt === null || reason === undefined) return receipt;
  return {
    ...receipt,
    answer: {
      refused_at: request.refusedAt,
      reason,
      says: nothingHeld,
      searched: { mirror: true, published_files: request.searchedFiles ?? 0, service: true },
      erased_by: request.erasedBy,
    },
  };
}

/** Writes a receipt for its owner's eyes only (mode 0600). Throws the system's error. */
export function writeReceipt(path: string, receipt: Receipt): void {
  replaceFile(path, `${JSON.stringify(receipt, null, 2)}\n`);
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
  const inside = relative(resolve(dataDir), resolve(path));
  if (inside.startsWith('..') || isAbsolute(inside)) return;
  throw new AppError('a receipt cannot lie in the data folder', {
    code: 'usage',
    hint: 'name a place elsewhere: the receipt would show, after the request is sealed, which person it was about',
  });
}

/** Reads a receipt. Throws `usage` when it is none. */
export function readReceipt(path: string): Receipt {
  try {
    if (existsSync(path)) {
      const read = Receipt.safeParse(JSON.parse(readFileSync(path, 'utf8')));
      if (read.success) return read.data;
    }
  } catch (error) {
    if (!(error instanceof SyntaxError) && systemCode(error) === undefined) throw error;
  }
  throw new AppError('that is no receipt', {
    code: 'usage',
    hint: 'name the file receipt-<request>.json, as `erase add --receipts` or `erase receipt` wrote it',
  });
}

/** Whether a subject's HMAC is the one of these identifiers, all of them or one, under a receipt's key. */
export function isAbout(
  { subject_key: subjectKey }: Pick<Receipt, 'subject_key'>,
  subject: string,
  given: readonly GivenIdentifier[],
): boolean {
  return [[...given], ...given.map((one) => [one])].some((named) => isSubject(subject, { subjectKey, given: named }));
}
