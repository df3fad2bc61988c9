import { existsSync } from 'node:fs';
import { sha256 } from '../core/digest.ts';
import { AppError } from '../core/errors.ts';
import { findDifferences } from '../erasure/bound/differences.ts';
import { certificateText, deriveCertificate, feedUntilOf, readCertificate } from '../erasure/proof/certificate.ts';
import { readCertificateFile, readCertificateFiles } from '../erasure/proof/certificate-file.ts';
import { readLedgerOrigin } from '../ledger/checkpoint.ts';
import { collectHistories } from '../ledger/request-history.ts';
import { entriesPath, ledgerFolder, readLines } from '../ledger/entry-file.ts';
import { entriesIn, type LedgerEntry } from '../ledger/entry.ts';
import { readLedger } from '../ledger/ledger.ts';
import { verifyLedger, type LedgerVerdict, type VerifyTask } from '../ledger/verify.ts';
import { databasePath, openDatabaseReadOnly, type Database } from '../mirror/database.ts';
import { publishedFilesIn } from '../snapshot/published-files.ts';
import { verifySnapshots, type SnapshotProblem } from '../snapshot/verify.ts';

/** The result of verifying a data folder. */
export type FolderVerdict = {
  /** Whether there is no problem. */
  ok: boolean;
  ledger: LedgerVerdict;
  certificates: number;
  files: { files: number; bytes: number };
  /** Each in one sentence. */
  problems: string[];
  /** Remarks that are no problem. */
  notes: string[];
};

/**
 * Verifies a data folder: the ledger itself, that each certificate is the one on the ledger and follows from its entries, that
 * each published file matches its manifest, and that keys, mirror and published snapshots are as the ledger says.
 */
export async function verifyDataFolder(
  dataDir: string,
  kept: Pick<VerifyTask, 'publicKey' | 'checkpoint'>,
  signal: AbortSignal,
): Promise<FolderVerdict> {
  const ledger = verifyLedger({ folder: ledgerFolder(dataDir), ...kept });
  const certificates = verifyCertificates(dataDir);
  const files = await verifySnapshots(publishedFilesIn(dataDir), signal);
  const state = ledger.ok ? findDifferencesIn(dataDir) : { sentences: [], notes: [] };
  const problems = [
    ...state.sentences,
    ...ledger.problems.map(({ where, sentence }) => `${where}: ${sentence}`),
    ...certificates.problems,
    ...files.problems.map(fileSentence),
  ];
  return {
    ok: problems.length === 0,
    ledger,
    certificates: certificates.checked,
    files: { files: files.files, bytes: files.bytes },
    problems,
    notes: [...state.notes, ...ledger.warnings.map(({ where, sentence }) => `${where}: ${sentence}`)],
  };
}

/** What is not as the ledger says. The mirror is opened for reading; where it cannot be, its tables are not looked at. */
function findDifferencesIn(dataDir: string): { sentences: string[]; notes: string[] } {
  const notes: string[] = [];
  const db = openMirror(dataDir, notes);
  try {
    const parts = { db, published: publishedFilesIn(dataDir), dataDir, ledger: readLedger(dataDir) };
    return { sentences: findDifferences(parts).map(({ sentence }) => sentence), notes };
  } finally {
    db?.close();
  }
}

function openMirror(dataDir: string, notes: string[]): Database | null {
  if (!existsSync(databasePath(dataDir))) return null;
  try {
    return openDatabaseReadOnly(dataDir);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    notes.push(`mirror.db: its tables were not held against the ledger: ${error.message}`);
    return null;
  }
}

function verifyCertificates(dataDir: string): { checked: number; problems: string[] } {
  const problems: string[] = [];
  const histories = collectHistories();
  const onLedger = new Map<string, string>();
  const ledgerOrigin = readLedgerOrigin(dataDir) ?? '';
  for (const entry of soundEntries(dataDir)) {
    const isIssued = entry.type === 'certified' && entry.certificate !== null;
    const history = isIssued ? histories.of(entry.request) : undefined;
    if (isIssued && history) {
      // Derived from the entries before it: a later generation of the request changes the history.
      const name = `${entry.request}-g${entry.generation}.json`;
      onLedger.set(name, entry.certificate ?? '');
      const text = readCertificateFile(dataDir, entry.request, entry.generation);
      const present = readCertificate(text ?? '');
      const feedUntil = (present && feedUntilOf(present)) ?? entry.at;
      const derived = deriveCertificate(history, { ledgerOrigin, feedUntil }, present?.format_version);
      if (text === undefined) problems.push(`certificate ${name}: it is on the ledger, but its file is missing`);
      else if (sha256(text) === entry.certificate && (!derived || certificateText(derived) !== text))
        problems.push(`certificate ${name}: it says something else than the ledger's entries`);
    }
    histories.take(entry);
  }
  let checked = 0;
  for (const { name, text } of readCertificateFiles(dataDir)) {
    checked += 1;
    const digest = onLedger.get(name);
    if (digest === undefined) problems.push(`certificate ${name}: it is not on the ledger, so nothing proves it`);
    else if (digest !== sha256(text)) problems.push(`certificate ${name}: it is not the one on the ledger`);
  }
  // After a kill, the same record may stand on the ledger twice.
  return { checked, problems: [...new Set(problems)] };
}

/** The entries that can be read, also of a ledger that is damaged elsewhere. */
function* soundEntries(dataDir: string): Generator<LedgerEntry> {
  for (const line of readLines(entriesPath(ledgerFolder(dataDir)))) {
    const entries = entriesIn(line);
    if (typeof entries !== 'string') yield* entries;
  }
}

const fileSentences: Readonly<Record<SnapshotProblem['problem'], string>> = {
  damaged: 'the manifest cannot be read, or is not of this snapshot',
  missing: 'the file is missing',
  size: 'the file has another size than its manifest says',
  sha256: 'the file has other bytes than its manifest says',
  unreadable: 'the file matches its manifest, but it cannot be read',
  rows: 'the file has another number of rows than its manifest says',
  unnamed: 'no manifest names the file, and it may hold personal data',
};

function fileSentence({ dataset, snapshotId, file, problem }: SnapshotProblem): string {
  return `published file ${dataset}/${snapshotId}/${file}: ${fileSentences[problem]}`;
}
