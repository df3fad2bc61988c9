import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { draftLivesMs } from '../core/atomic-file.ts';
import { systemClock } from '../core/clock.ts';
import { sha256 } from '../core/digest.ts';
import { isDraft, namesIn, readRegularFile, reportsFolder } from '../core/folder.ts';
import { readBundle, verifyBundle, type Bundle } from '../../docs/verifier/verify.mjs';
import { readCertificate } from '../erasure/proof/certificate.ts';
import { checkpointOfSize, publicKeysPath, readCheckpoint, readTimeStampFiles } from '../ledger/checkpoint.ts';
import { entriesPath, ledgerFolder, readLines } from '../ledger/entry-file.ts';
import { canonicalJson } from '../ledger/canonical-json.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import { collectLaterWords, type LaterWords } from '../ledger/later-words.ts';
import { readProof } from '../ledger/proof.ts';
import { isVerifierPage, verifierPageName } from '../ledger/verify.ts';
import { saidIn } from './bundle.ts';
import { certificatePage } from './certificate-page.ts';

/** What was found in `reports/`, each in one sentence. */
type Findings = { problems: string[]; notes: string[] };

/**
 * Holds what lies in `reports/` beside the certificates against the ledger: each drill's file by its SHA-256, and each bundle
 * and page of a certificate by the proof that it carries. A page of this version has to be the one that is made again from
 * that. Leftover drafts are named. Reports show the state of the day on which they were made, and are not checked.
 */
export function verifyReports(dataDir: string, entries: Iterable<LedgerEntry>): Findings {
  const found: Findings = { problems: [], notes: [] };
  const drills = new Map<string, string>();
  const certified = new Map<string, number[]>();
  const words = collectLaterWords();
  for (const entry of entries) {
    words.take(entry);
    if (entry.type === 'drill') drills.set(entry.report, entry.at);
    if (entry.type === 'certified' && entry.certificate !== null)
      certified.set(entry.certificate, [...(certified.get(entry.certificate) ?? []), entry.seq]);
  }
  for (const place of ['certificates', 'drills', '']) findDrafts(dataDir, place, found);
  findDrills(dataDir, drills, found);
  findPages(dataDir, { certified, words }, found);
  return found;
}

function findDrafts(dataDir: string, place: string, { problems, notes }: Findings): void {
  const folder = join(reportsFolder(dataDir), place);
  for (const name of namesIn(folder).filter(isDraft)) {
    const where = join('reports', place, name);
    const isLeft = lstatSync(join(folder, name)).mtimeMs < systemClock.now() - draftLivesMs;
    if (isLeft) problems.push(`${where}: it is a draft that a killed run has left; \`reconcile\` removes it`);
    else notes.push(`${where}: it is a draft, which a run is writing or a killed one has left`);
  }
}

function findDrills(dataDir: string, recorded: ReadonlyMap<string, string>, { problems }: Findings): void {
  const folder = join(reportsFolder(dataDir), 'drills');
  const missing = new Map(recorded);
  for (const name of namesIn(folder).filter((each) => !isDraft(each))) {
    const text = readRegularFile(join(folder, name));
    const digest = text === undefined ? '' : sha256(text);
    if (recorded.has(digest)) missing.delete(digest);
    else if (text === undefined) problems.push(`reports/drills/${name}: it is no file that can be read`);
    else
      problems.push(
        `reports/drills/${name}: it is not on the ledger: it was changed, or is of no drill; one that was killed leaves such a file: remove it`,
      );
  }
  for (const at of missing.values())
    problems.push(`drill of ${at}: it is on the ledger, but no file in reports/drills/ is its report`);
}

type OnLedger = { certified: ReadonlyMap<string, number[]>; words: LaterWords };

function findPages(dataDir: string, { certified, words }: OnLedger, { problems, notes }: Findings): void {
  const folder = reportsFolder(dataDir);
  const pages: { where: string; text: string; bundle: Bundle }[] = [];
  let others = 0;
  for (const name of namesIn(folder)) {
    if (name === 'certificates' || name === 'drills' || isDraft(name)) continue;
    const where = `reports/${name}`;
    const text = readRegularFile(join(folder, name));
    if (name === verifierPageName) {
      if (text === undefined || !isVerifierPage(Buffer.from(text)))
        notes.push(`${where}: it is not the page of this version, and may be of nobody; \`reconcile\` replaces it`);
      continue;
    }
    const bundle = text === undefined ? undefined : readBundle(text);
    if (text === undefined) problems.push(`${where}: it is no file that can be read`);
    else if (bundle) pages.push({ where, text, bundle });
    else if (/^(?:certificate|bundle)\b/.test(name))
      problems.push(
        `${where}: it carries no proof that can be read; \`audit certificate\` and \`audit bundle\` make it again`,
      );
    else others += 1;
  }
  if (others > 0)
    notes.push(
      `reports/: ${others} files show what was so when they were made, and were not checked; \`audit report\` makes a new one`,
    );
  const lines = readWantedLines(dataDir, pages);
  const keys = readRegularFile(publicKeysPath(ledgerFolder(dataDir))) ?? '';
  for (const { where, text, bundle } of pages) {
    const certificate = readCertificate(bundle.certificate);
    const digest = sha256(bundle.certificate);
    const places = certified.get(digest);
    const { later, history } = saidIn(bundle, certificate?.request ?? '');
    if (!certificate || !places) problems.push(`${where}: its certificate is not on the ledger`);
    else if (!keys.startsWith(bundle.public_keys))
      problems.push(
        `${where}: ledger/public-keys.txt lacks keys that it carries: an older list was put back, or they are not ours`,
      );
    else if (!history || !isProved(dataDir, text, bundle, lines))
      problems.push(`${where}: its entries or proofs are not those of the ledger`);
    else {
      if (words.since(certificate.request, digest).length !== later.length)
        notes.push(`${where}: when it was made, the ledger said something else against its certificate than now`);
      const alone = `${canonicalJson(bundle)}\n`;
      const isSame = (entry: number): boolean =>
        certificatePage({ certificate, sha256: digest, entry, later, history }, alone) === text;
      if (text === alone || places.some(isSame)) continue;
      // The version of the program that wrote it.
      const writer = /<meta name="generator" content="analytics-mirror ([^"]*)"/.exec(text)?.[1];
      if (writer === packageJson.version) problems.push(`${where}: it shows something else than its certificate`);
      else
        notes.push(
          `${where}: another version wrote it; the certificate that it carries is right, its words were not compared`,
        );
    }
  }
}

/** The lines of the ledger of which bundles carry a copy, by number. */
function readWantedLines(dataDir: string, pages: readonly { bundle: Bundle }[]): ReadonlyMap<number, string> {
  const wanted = new Set(pages.flatMap(({ bundle }) => bundle.entries.map(({ proof }) => readProof(proof)?.index)));
  const lines = new Map<number, string>();
  let seq = 0;
  if (wanted.size > 0)
    for (const line of readLines(entriesPath(ledgerFolder(dataDir)))) {
      if (wanted.has(seq)) lines.set(seq, line.toString('utf8'));
      seq += 1;
    }
  return lines;
}

/** Whether all that a bundle carries is right, and the ledger's: each line, with its checkpoint, keys, and time stamps. */
function isProved(dataDir: string, text: string, bundle: Bundle, lines: ReadonlyMap<number, string>): boolean {
  const folder = ledgerFolder(dataDir);
  const isOfLedger = ({ line, proof: written }: Bundle['entries'][number]): boolean => {
    const proof = readProof(written);
    const carried = proof && readCheckpoint(proof.checkpoint);
    if (!carried || lines.get(proof.index) !== line) return false;
    // Witnesses may have signed it since.
    return checkpointOfSize(folder, carried.size)?.note.text === carried.note.text;
  };
  const tokens = new Set(readTimeStampFiles(folder).map(({ token }) => token?.toString('base64')));
  return (
    verifyBundle({ text }).problems.every(({ problem }) => problem === 'superseded') &&
    bundle.entries.every(isOfLedger) &&
    (bundle.time_stamps ?? []).every((token) => tokens.has(token))
  );
}
