import { isoTime } from '../../core/clock.ts';
import { certificateText, deriveCertificate, deriveIssuedText } from './certificate.ts';
import { writeCertificateFile } from './certificate-file.ts';
import type { ErasureParts } from '../request/request-record.ts';
import { ledgerOrigin } from './ledger-origin.ts';
import { readHistories, type Histories } from './request-history.ts';
import type { RequestRef } from '../request/target-journal.ts';

/**
 * Returns a function that issues the certificate of a request that has reached everything: it writes the certificate into
 * the data folder and returns the SHA-256 of its bytes; null where the ledger's history of the request is not whole. The
 * first call reads the ledger, once for all: whatever a certificate rests on has to be on it by then. A certificate that is
 * issued again is the same: one that is on the ledger stays in the format version of its time.
 */
export function certificateIssuer({
  ledger,
  settings,
}: Pick<ErasureParts, 'ledger' | 'settings'>): (request: RequestRef) => string | null {
  const { dataDir, erasure } = settings;
  let histories: Histories | undefined;
  return ({ id, generation }) => {
    histories ??= readHistories(ledger.entries());
    const history = histories.of(id);
    if (history?.generation !== generation || !history.fence) return null;
    const facts = {
      ledgerOrigin: ledgerOrigin(dataDir, ledger),
      feedUntil: isoTime(Date.parse(history.fence.at) + erasure.feedRetentionDays * 86_400_000),
    };
    const certificate = deriveCertificate(history, facts);
    if (!certificate) return null;
    const issued = history.certified.find((each) => each.generation === generation)?.sha256 ?? null;
    const text =
      (issued === null ? undefined : deriveIssuedText(history, facts, issued)) ??
      certificateText(certificate);
    return writeCertificateFile(dataDir, { request: id, generation }, text, (digest) => digest === issued);
  };
}
