import { readFileSync } from 'node:fs';
import { AppError } from '../core/errors.ts';
import { canonicalJson } from '../ledger/canonical-json.ts';
import { publicKeysPath } from '../ledger/checkpoint.ts';
import { ledgerFolder } from '../ledger/entry-file.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import { proveEntries } from '../ledger/prove-entries.ts';

/**
 * All that shows a certificate to be right, as one canonical JSON object and a newline: the certificate, the entries that it
 * follows from with the rotations of the key, the proof that each is in the ledger, the public keys, and the anchors outside of
 * the checkpoints. `verify.mjs` checks it alone. Throws `storage` where no checkpoint covers the certificate, or where the ledger cannot be read.
 */
export function bundleText(
  dataDir: string,
  entries: Iterable<LedgerEntry>,
  { certificate: { request }, text, entry: last }: { certificate: { request: string }; text: string; entry: number },
): string {
  const needed: number[] = [];
  for (const entry of entries) {
    const isOwn =
      'requests' in entry ? entry.requests.includes(request) : 'request' in entry && entry.request === request;
    if ((isOwn && entry.seq <= last) || entry.type === 'key_rotated') needed.push(entry.seq);
  }
  const { entries: proved, timeStamps } = proveEntries(ledgerFolder(dataDir), needed);
  const bundle = {
    bundle: 'analytics-mirror/bundle@1',
    certificate: text,
    entries: proved,
    public_keys: readFileSync(publicKeysPath(ledgerFolder(dataDir)), 'utf8'),
    ...(timeStamps.length === 0 ? {} : { time_stamps: timeStamps.map((token) => token.toString('base64')) }),
  };
  if (bundle.entries.length < needed.length)
    throw new AppError('no checkpoint of the ledger covers the certificate yet', {
      code: 'storage',
      hint: 'run `analytics-mirror audit checkpoint`, which signs the ledger',
    });
  return `${canonicalJson(bundle)}\n`;
}
