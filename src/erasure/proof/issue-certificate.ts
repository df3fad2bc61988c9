import { isoTime } from '../../core/clock.ts';
import { certificateText, deriveCertificate } from './certificate.ts';
import { writeCertificateFile } from './certificate-file.ts';
import type { ErasureParts } from '../request/request-record.ts';
import { ledgerOrigin } from './ledger-origin.ts';
import { readHistories, type Histories } from './request-history.ts';
import type { RequestRef } from '../request/target-journal.ts';

/**
 * Prepares the issue of certificates to requests that have reached everything: writes one into the data folder, and
 * returns the SHA-256 of its bytes; null where the ledger's word of a request is not whole. The ledger is read once, at
 * the first of them: what the requests rest on has to be on it by then. Issued again, a certificate is the same.
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
    const certificate = deriveCertificate(history, {
      ledgerOrigin: ledgerOrigin(dataDir, ledger),
      feedUntil: isoTime(Date.parse(history.fence.at) + erasure.feedRetentionDays * 86_400_000),
    });
    if (!certificate) return null;
    return writeCertificateFile(
      dataDir,
      { request: id, generation },
      certificateText(certificate),
      (digest) =>
        history.certified.some((issued) => issued.generation === generation && issued.sha256 === digest),
    );
  };
}
