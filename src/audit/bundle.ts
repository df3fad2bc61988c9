import { sha256 } from '../core/digest.ts';
import { AppError } from '../core/errors.ts';
import { readJson } from '../core/exact-json.ts';
import { canonicalJson } from '../ledger/canonical-json.ts';
import { publicKeysPath } from '../ledger/checkpoint.ts';
import { ledgerFolder } from '../ledger/entry-file.ts';
import { readEntry } from '../ledger/entry.ts';
import { laterWords, type LaterWord } from '../ledger/later-words.ts';
import type { LedgerReader } from '../ledger/ledger.ts';
import { proveEntries, type ProvedEntry } from '../ledger/prove-entries.ts';
import { requestsOf } from '../ledger/record.ts';
import { readWholeFile } from '../core/folder.ts';

const bundleFormat = 'analytics-mirror/bundle@1';

/**
 * All that shows a certificate to be right, as one canonical JSON object and a newline: the certificate, the entries that it
 * follows from with the rotations of the key, where it is superseded also the later ones, the proof that each is in the ledger, the public keys, and the anchors outside of
 * the checkpoints. `verify.mjs` checks it alone. Throws `storage` where no checkpoint covers the certificate, or where the ledger cannot be read.
 */
export function bundleText(
  dataDir: string,
  ledger: Pick<LedgerReader, 'entries' | 'lines' | 'size'>,
  { certificate: { request }, text, entry: last }: { certificate: { request: string }; text: string; entry: number },
): string {
  const needed: number[] = [];
  const later = laterWords(ledger.entries(), request, sha256(text));
  const contradicting = new Set(later.map(({ entry }) => entry));
  for (const entry of ledger.entries()) {
    const isOwn = requestsOf(entry).includes(request) && (entry.seq <= last || later.length > 0);
    if (isOwn || entry.type === 'key_rotated' || contradicting.has(entry.seq)) needed.push(entry.seq);
  }
  const { entries: proved, timeStamps } = proveEntries(ledgerFolder(dataDir), ledger, needed);
  const bundle = {
    bundle: bundleFormat,
    certificate: text,
    entries: proved,
    public_keys: readWholeFile(publicKeysPath(ledgerFolder(dataDir))).toString(),
    ...(timeStamps.length === 0 ? {} : { time_stamps: timeStamps.map((token) => token.toString('base64')) }),
  };
  if (bundle.entries.length < needed.length)
    throw new AppError('no checkpoint of the ledger covers the certificate yet', {
      code: 'storage',
      hint: 'run `analytics-mirror audit checkpoint`, which signs the ledger',
    });
  return `${canonicalJson(bundle)}\n`;
}

/** The later words that a bundle carries about its own certificate. */
export function laterWordsIn({ entries, certificate }: Bundle, request: string): LaterWord[] {
  const read = entries.flatMap(({ line }) => {
    const own = readEntry(Buffer.from(line));
    return typeof own === 'string' ? [] : [own];
  });
  return laterWords(read, request, sha256(certificate));
}

/** A bundle as it was read, nothing of it verified. `page`: the version that wrote its page; null where it stands alone. */
export type Bundle = {
  text: string;
  page: string | null;
  certificate: string;
  entries: ProvedEntry[];
  publicKeys: string;
  timeStamps: string[];
};

const scriptBegin = '<script type="application/json" id="bundle">';

/** The text of the bundle that a page carries; undefined for a text that is no such page. */
function bundleInPage(page: string): string | undefined {
  const at = page.indexOf(scriptBegin);
  const end = at < 0 ? -1 : page.indexOf('</script>', at);
  return end < 0 ? undefined : page.slice(at + scriptBegin.length, end).replaceAll(String.raw`\u003c`, '<');
}

/** The bundle that a text is, or that the page of a certificate carries; undefined where there is none. */
export function readBundle(file: string): Bundle | undefined {
  const inPage = bundleInPage(file);
  const text = inPage ?? file;
  const read = readJson(text);
  const { bundle, certificate, entries, public_keys: publicKeys, time_stamps: timeStamps = [] } = recordOf(read);
  const isWhole =
    bundle === bundleFormat &&
    isText(certificate) &&
    isText(publicKeys) &&
    Array.isArray(timeStamps) &&
    timeStamps.every(isText) &&
    Array.isArray(entries) &&
    entries.every(isProvedEntry) &&
    `${canonicalJson(read)}\n` === text;
  if (!isWhole) return undefined;
  const [, version = ''] = /<meta name="generator" content="analytics-mirror ([^"]*)"/.exec(file) ?? [];
  return { text, page: inPage === undefined ? null : version, certificate, entries, publicKeys, timeStamps };
}

const isText = (value: unknown): value is string => typeof value === 'string';

function isProvedEntry(value: unknown): value is ProvedEntry {
  const { line, proof } = recordOf(value);
  return isText(line) && isText(proof);
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
