import { join } from 'node:path';
import { writeRequestedFile } from '../core/atomic-file.ts';
import { sha256 } from '../core/digest.ts';
import { AppError } from '../core/errors.ts';
import type { Bundle } from '../../docs/verifier/verify.mjs';
import { canonicalJson } from '../ledger/canonical-json.ts';
import { publicKeysAfter } from '../ledger/checkpoint.ts';
import { ledgerFolder } from '../ledger/entry-file.ts';
import { readEntry } from '../ledger/entry.ts';
import { readHistories } from '../ledger/histories.ts';
import { laterWords, type LaterWord } from '../ledger/later-words.ts';
import type { LedgerReader } from '../ledger/ledger.ts';
import { proveEntries } from '../ledger/prove-entries.ts';
import { requestsOf } from '../ledger/record.ts';
import type { RequestHistory } from '../ledger/request-history.ts';
import { isVerifierPage, verifierPage, verifierPageName } from '../ledger/verify.ts';
import { isRegularFile, readWholeFile, reportsFolder } from '../core/folder.ts';

/**
 * All that shows a certificate to be right, as one canonical JSON object and a newline: the certificate, the entries that it
 * follows from with the rotations of the key, where it is superseded also the later ones, the proof that each is in the ledger, the public keys, and the anchors outside of
 * the checkpoints. `verify.mjs` checks it alone. Throws `storage` where no checkpoint covers the certificate, or where the ledger cannot be read.
 */
export function bundleText(
  dataDir: string,
  ledger: Pick<LedgerReader, 'entries' | 'lines' | 'rotations' | 'signed' | 'size'>,
  { certificate: { request }, text, entry: last }: { certificate: { request: string }; text: string; entry: number },
): string {
  const needed: number[] = [];
  const later = laterWords(ledger, request, sha256(text));
  const contradicting = new Set(later.map(({ entry }) => entry));
  for (const entry of ledger.entries()) {
    const isOwn = requestsOf(entry).includes(request) && (entry.seq <= last || later.length > 0);
    if (isOwn || entry.type === 'key_rotated' || contradicting.has(entry.seq)) needed.push(entry.seq);
  }
  const { entries: proved, timeStamps } = proveEntries(ledgerFolder(dataDir), ledger, needed);
  const bundle = {
    bundle: 'analytics-mirror/bundle@1',
    certificate: text,
    entries: proved,
    // The key can have been replaced since the ledger was read.
    public_keys: publicKeysAfter(ledgerFolder(dataDir), ledger.rotations().length),
    ...(timeStamps.length === 0 ? {} : { time_stamps: timeStamps.map((token) => token.toString('base64')) }),
  };
  if (bundle.entries.length < needed.length)
    throw new AppError('no checkpoint of the ledger covers the certificate yet', {
      code: 'storage',
      hint: 'run `analytics-mirror audit checkpoint`, which signs the ledger',
    });
  return `${canonicalJson(bundle)}\n`;
}

/** What a bundle carries of its own request: the later words about its certificate, and its history. */
export function saidIn(
  { entries, certificate }: Bundle,
  request: string,
): { later: LaterWord[]; history: RequestHistory | undefined } {
  const read = entries.flatMap(({ line }) => {
    const own = readEntry(Buffer.from(line));
    return typeof own === 'string' ? [] : [own];
  });
  return {
    later: laterWords({ entries: () => read }, request, sha256(certificate)),
    history: readHistories(read).of(request),
  };
}

/**
 * Writes a file for others: where a command was told to, or under a name into `reports/`, with the verifier's page beside it. The
 * page to hand over too is `verifier`: without that folder, the one that the program brings. Throws `usage`.
 */
export function writeForOthers(
  { dataDir, out, name }: { dataDir: string; out: string | undefined; name: string },
  contentOf: (file: string) => Parameters<typeof writeRequestedFile>[1],
): { file: string; verifier: string } {
  const file = out ?? join(reportsFolder(dataDir), name);
  writeRequestedFile(file, contentOf(file));
  if (out !== undefined) return { file, verifier: verifierPage };
  const verifier = join(reportsFolder(dataDir), verifierPageName);
  if (!isRegularFile(verifier) || !isVerifierPage(readWholeFile(verifier)))
    writeRequestedFile(verifier, readWholeFile(verifierPage));
  return { file, verifier };
}

/** What a command says of what it wrote for others. */
export function writtenText({ file, verifier }: { file: string; verifier: string }): string {
  return `written to ${file}\n${verifier} checks it in a browser: hand both over\n`;
}
