import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { publishedDatasets } from '../contract/datasets.ts';
import { AppError } from '../core/errors.ts';
import { certificatesFolder, namesIn } from '../core/folder.ts';
import { keyPath } from '../core/secret-key.ts';
import { publicKeysPath } from '../ledger/checkpoint.ts';
import { ledgerFolder } from '../ledger/entry-file.ts';
import type { LedgerReader } from '../ledger/ledger.ts';
import { signingKeyName } from '../ledger/signing-key.ts';
import { restoreKeyName } from '../mirror/restore-key.ts';
import { publishedFilesIn } from '../snapshot/published-files.ts';

/**
 * Refuses a folder whose ledger has no entry, although something shows that persons were erased here: without the ledger nobody
 * knows whom to keep out. Throws `storage`. What a kill can leave before the first entry shows nothing.
 */
export function refuseLostLedger(dataDir: string, ledger: Pick<LedgerReader, 'size'>): void {
  if (ledger.size() > 0) return;
  const trace = traceOfErasures(dataDir);
  if (trace === undefined) return;
  throw new AppError(`the ledger is lost: ledger/ has no entry, and ${trace} shows that it had some`, {
    code: 'storage',
    finding: 'ledger_lost',
    hint: 'restore ledger/ from the newest backup, and mirror.db if it is lost too; to begin anew on purpose, with the people who were erased here, move the whole data folder away',
  });
}

/** What shows that the ledger had entries; undefined where nothing does. */
function traceOfErasures(dataDir: string): string | undefined {
  const isThere = (path: string): boolean => existsSync(path);
  if (isThere(keyPath(dataDir, restoreKeyName))) return 'restore.key';
  if (isThere(keyPath(dataDir, signingKeyName)) && !isThere(publicKeysPath(ledgerFolder(dataDir))))
    return join('keys', signingKeyName);
  if (namesIn(certificatesFolder(dataDir)).length > 0) return 'reports/certificates/';
  const published = publishedFilesIn(dataDir);
  const isOfErasure = publishedDatasets.some((dataset) =>
    published
      .listSnapshots(dataset)
      .some(
        ({ id: snapshotId, hasManifest }) =>
          hasManifest && published.readManifest({ dataset, snapshotId }).erasure_epoch > 0,
      ),
  );
  return isOfErasure ? 'a manifest in snapshots/' : undefined;
}
