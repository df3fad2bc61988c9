import { sha256 } from '../core/digest.ts';
import type { GivenIdentifier } from '../erasure/request/box.ts';
import { readCertificateFile } from '../erasure/proof/certificate-file.ts';
import { readLedgerOrigin } from '../ledger/checkpoint.ts';
import { isAbout, receiptText, type Receipt } from '../erasure/request/receipt.ts';
import { laterWords, type LaterWord } from '../ledger/later-words.ts';
import type { LedgerReader } from '../ledger/ledger.ts';
import type { RequestHistory } from '../ledger/request-history.ts';
import { ledgerFolder } from '../ledger/entry-file.ts';
import { readProof } from '../ledger/proof.ts';
import { verifyLedger } from '../ledger/verify.ts';
import type { RequestState } from '../ledger/vocabulary.ts';

/** The result of opening a receipt with identifiers. */
export type OpenedReceipt = {
  request: string;
  verdict:
    | 'is_about'
    | 'is_not_about'
    /** The ledger has another name than the receipt gives, or it does not hold the request. */
    | 'other_ledger'
    | 'unknown_request'
    /** The receipt says otherwise than its entries, or proves them by a checkpoint that was not signed over them. */
    | 'not_proved'
    /** The receipt proves that this ledger held other entries. */
    | 'other_entries';
  received: { entry: number; at: string } | null;
  state: RequestState | null;
  /** Whether the request is for access: then nothing is certified. */
  isAccess: boolean;
  /** The certificates of the request, whether the file of each is the one on the ledger, and what speaks against it since. */
  certificates: {
    generation: number;
    entry: number;
    sha256: string;
    file: 'sound' | 'missing' | 'changed';
    later: LaterWord[];
  }[];
};

/** Compares a receipt and identifiers with the ledger. Needs the folders ledger/ and reports/ only. */
export function openReceipt(
  dataDir: string,
  ledger: Pick<LedgerReader, 'entries' | 'histories'>,
  receipt: Receipt,
  given: readonly GivenIdentifier[],
): OpenedReceipt {
  const { request } = receipt;
  const none = { request, received: null, state: null, isAccess: false, certificates: [] };
  if (readLedgerOrigin(dataDir) !== receipt.ledger) return { ...none, verdict: 'other_ledger' };
  const history = ledger.histories.of(request);
  if (!history) return { ...none, verdict: 'unknown_request' };
  if (!isAbout(receipt, history.subject, given)) return { ...none, verdict: 'is_not_about' };
  const problem = promiseProblem(dataDir, receipt, history);
  if (problem) return { ...none, verdict: problem };
  return {
    request,
    verdict: 'is_about',
    received: history.received,
    state: history.state,
    isAccess: history.isAccess,
    certificates: history.certified.flatMap(({ generation, entry, sha256: digest }) => {
      if (digest === null) return [];
      const text = readCertificateFile(dataDir, request, generation);
      const file = text === undefined ? 'missing' : sha256(text) === digest ? 'sound' : 'changed';
      return [{ generation, entry, sha256: digest, file, later: laterWords(ledger, request, digest) }];
    }),
  };
}

/** Why a receipt does not prove what it says; null where it does. The ledger is taken as it is: `audit verify` verifies it. */
function promiseProblem(
  dataDir: string,
  receipt: Receipt,
  { received, refused, reason }: RequestHistory,
): 'not_proved' | 'other_entries' | null {
  const { answer } = receipt;
  const isAnswer = answer === undefined || (answer.refused_at === refused?.at && answer.reason === reason);
  if (receipt.received_at !== received.at || !isAnswer) return 'not_proved';
  const own = [received, ...(answer && refused ? [refused] : [])];
  const proved = receipt.entries.map(({ proof }) => readProof(proof)?.index);
  if (!own.every(({ entry }) => proved.includes(entry))) return 'not_proved';
  const { problems } = verifyLedger({ folder: ledgerFolder(dataDir), receipt: receiptText(receipt) });
  if (problems.some(({ where }) => where.startsWith('receipt, '))) return 'not_proved';
  // The entry of a proof is the ledger's own where its checkpoint is one of the ledger's.
  return problems.some(({ where }) => where === 'receipt') ? 'other_entries' : null;
}
