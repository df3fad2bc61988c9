import { sha256 } from '../core/digest.ts';
import type { GivenIdentifier } from '../erasure/request/box.ts';
import { readCertificateFile } from '../erasure/proof/certificate-file.ts';
import { readLedgerOrigin } from '../ledger/checkpoint.ts';
import { isAbout, type Receipt } from '../erasure/request/receipt.ts';
import { readHistories } from '../ledger/request-history.ts';
import type { LedgerEntry } from '../ledger/entry.ts';

/** The result of opening a receipt with identifiers. */
export type OpenedReceipt = {
  request: string;
  verdict:
    | 'is_about'
    | 'is_not_about'
    /** The ledger has another name than the receipt gives, or it does not hold the request. */
    | 'other_ledger'
    | 'unknown_request';
  received: { entry: number; at: string } | null;
  /** The certificates of the request, and whether the file of each is the one on the ledger. */
  certificates: { generation: number; entry: number; sha256: string; file: 'sound' | 'missing' | 'changed' }[];
};

/** Compares a receipt and identifiers with the ledger. Needs the folders ledger/ and reports/ only. */
export function openReceipt(
  dataDir: string,
  entries: Iterable<LedgerEntry>,
  receipt: Receipt,
  given: readonly GivenIdentifier[],
): OpenedReceipt {
  const { request } = receipt;
  const none = { request, received: null, certificates: [] };
  if (readLedgerOrigin(dataDir) !== receipt.ledger) return { ...none, verdict: 'other_ledger' };
  const history = readHistories(entries, new Set([request])).of(request);
  if (!history) return { ...none, verdict: 'unknown_request' };
  if (!isAbout(receipt, history.subject, given)) return { ...none, verdict: 'is_not_about' };
  return {
    request,
    verdict: 'is_about',
    received: history.received,
    certificates: history.certified.flatMap(({ generation, entry, sha256: digest }) => {
      if (digest === null) return [];
      const text = readCertificateFile(dataDir, request, generation);
      const file = text === undefined ? 'missing' : sha256(text) === digest ? 'sound' : 'changed';
      return [{ generation, entry, sha256: digest, file }];
    }),
  };
}
