import { existsSync } from 'node:fs';
import { sha256 } from '../core/digest.ts';
import { AppError, usageError } from '../core/errors.ts';
import { readCertificate } from '../erasure/proof/certificate.ts';
import { issuedText, readCertificateFile, type IssuingSettings } from '../erasure/proof/certificate-file.ts';
import { readLedgerOrigin } from '../ledger/checkpoint.ts';
import { laterText, laterWords } from '../ledger/later-words.ts';
import type { LedgerReader } from '../ledger/ledger.ts';
import type { RequestHistory } from '../ledger/request-history.ts';
import { uncertifiedText } from '../ledger/vocabulary-words.ts';
import { databasePath, openDatabaseReadOnly } from '../mirror/database.ts';
import { findRequest } from '../mirror/erasure-requests.ts';
import type { IssuedCertificate } from './certificate-page.ts';

/**
 * The newest certificate of the request that has this id, or whose id alone begins with it, and its text. Where its file is
 * gone, it is derived from the ledger and the settings. Throws `usage` when there is none, and `storage` when its SHA-256 is
 * not on the ledger.
 */
export function findCertificate(
  settings: IssuingSettings,
  ledger: Pick<LedgerReader, 'entries' | 'histories' | 'signed'>,
  idOrPrefix: string,
): IssuedCertificate & { text: string } {
  const history = requireHistory(ledger.histories.all(), idOrPrefix);
  const issued = history.certified.at(-1);
  if (!issued || issued.sha256 === null)
    throw usageError(
      `request ${history.request} has no certificate`,
      uncertifiedText(history.state) ??
        'one is issued once everything is reached: `erase show` tells what is still open',
    );
  const present = readCertificateFile(settings.dataDir, history.request, issued.generation);
  const text =
    present ?? issuedText(settings, history, { origin: readLedgerOrigin(settings.dataDir), digest: issued.sha256 });
  const certificate = readCertificate(text ?? '');
  if (text === undefined || !certificate || sha256(text) !== issued.sha256)
    throw new AppError(
      `the certificate of request ${history.request} is ${present === undefined ? 'gone' : 'not the one on the ledger'}`,
      {
        code: 'storage',
        hint:
          'restore reports/certificates/ from a backup' +
          (present === undefined
            ? '; it is derived anew only where this version and service, audit.controller, audit.backupDays and erasure.feedRetentionDays are those of its day'
            : ''),
      },
    );
  return {
    certificate,
    text,
    sha256: issued.sha256,
    entry: issued.entry,
    later: laterWords(ledger, history.request, issued.sha256),
    history,
  };
}

/** The help of the option by which a superseded certificate is written all the same. */
export const supersededHelp =
  'also where later entries of the ledger speak against the certificate; a page and a bundle say so';

/**
 * Throws `usage` for a certificate that later entries speak against, or whose person the mirror has seen at the service since, unless
 * the reader wants it all the same.
 */
export function refuseSuperseded(
  dataDir: string,
  { certificate, later }: IssuedCertificate,
  isWanted: boolean | undefined,
): void {
  if (isWanted === true) return;
  const { request, generation } = certificate;
  if (isShownAgain(dataDir, request))
    throw usageError(
      `the service has shown the person of request ${request} again since its certificate`,
      'run `analytics-mirror reconcile`: it asks the service, and records what is true now; with --superseded a page or a bundle of it is written all the same',
    );
  if (later.length === 0) return;
  throw usageError(
    `the certificate of request ${request}, generation ${generation}, is superseded: ${laterText(later)}`,
    '`erase show` tells how the request stands; with --superseded a page or a bundle of it is written all the same, and says so',
  );
}

/** Whether a pass has seen the person of a request at the service, and no reconciliation has recorded it yet. */
function isShownAgain(dataDir: string, request: string): boolean {
  if (!existsSync(databasePath(dataDir))) return false;
  using db = openDatabaseReadOnly(dataDir);
  return (findRequest(db, request)?.listedAgainPass ?? null) !== null;
}

/** The request that has this id, or whose id alone begins with it. Throws `usage` when there is none. */
function requireHistory(histories: Iterable<RequestHistory>, idOrPrefix: string): RequestHistory {
  const prefix = idOrPrefix.toLowerCase();
  const found = [...histories].filter(({ request }) => request.startsWith(prefix));
  const [history] = found;
  if (history && found.length === 1 && prefix.length >= 4) return history;
  throw usageError(
    'there is no request of that id on the ledger, or several begin so',
    '`erase list --all` shows every request with its id',
  );
}
