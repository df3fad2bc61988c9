import { existsSync } from 'node:fs';
import { anchorJudge, readPolicy } from '../anchor/policy.ts';
import { sha256 } from '../core/digest.ts';
import { AppError } from '../core/errors.ts';
import { keyPath } from '../core/secret-key.ts';
import { explainStorageError } from '../core/storage-error.ts';
import { refuseLostLedger } from '../job/lost-ledger.ts';
import { findDifferencesIn } from '../erasure/bound/differences.ts';
import { certificateText, readCertificate } from '../erasure/proof/certificate.ts';
import { certificateName, readCertificateFiles } from '../erasure/proof/certificate-file.ts';
import { deriveCertificate } from '../erasure/proof/derive-certificate.ts';
import { readLedgerOrigin, readTimeStampFiles } from '../ledger/checkpoint.ts';
import { collectHistories, type RequestHistory } from '../ledger/request-history.ts';
import { entriesPath, ledgerFolder, readLines } from '../ledger/entry-file.ts';
import { readEntry, type LedgerEntry } from '../ledger/entry.ts';
import { collectLaterWords } from '../ledger/later-words.ts';
import { readLedger } from '../ledger/ledger.ts';
import type { OutsideSigner } from '../ledger/outside-signer.ts';
import { refuseOtherKey, signingKeyName } from '../ledger/signing-key.ts';
import { noLedger, verifyLedger, type LedgerVerdict, type VerifyTask } from '../ledger/verify.ts';
import { databasePath, openDatabaseReadOnly, type Database } from '../mirror/database.ts';
import { verifyReports } from './verify-reports.ts';
import { publishedFilesIn } from '../snapshot/published-files.ts';
import { problemSentence, verifySnapshots } from '../snapshot/verify.ts';

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
 * `policy`: the text of one. `missing`: a sentence for each configured anchor that is missing. `signers`: the keys that sign the
 * ledger from outside of the data folder.
 */
type Anchoring = { policy?: string | undefined; missing?: readonly string[]; signers?: readonly OutsideSigner[] };

/**
 * Verifies a data folder: the ledger itself, that each certificate is the one on the ledger and follows from its entries, that
 * each published file matches its manifest, and that keys, mirror and published snapshots are as the ledger says.
 */
export async function verifyDataFolder(
  dataDir: string,
  { policy, missing = [], signers = [], ...kept }: Pick<VerifyTask, 'publicKey' | 'checkpoint'> & Anchoring,
  signal: AbortSignal,
): Promise<FolderVerdict> {
  const folder = ledgerFolder(dataDir);
  const unread: string[] = [];
  const ledger = await attempt(unread, noVerdict, async () =>
    verifyLedger({ folder, ...kept, anchors: anchorJudgeOf(folder, policy) }),
  );
  const certificates = await attempt(unread, { checked: 0, problems: [], notes: [] }, () =>
    verifyCertificates(dataDir, ledger.signed),
  );
  const reports = await attempt(unread, { problems: [], notes: [] }, () =>
    verifyReports(dataDir, soundEntries(dataDir)),
  );
  const files = await attempt(unread, { files: 0, bytes: 0, problems: [] }, () =>
    verifySnapshots(publishedFilesIn(dataDir), signal),
  );
  const state = ledger.ok
    ? await attempt(unread, { sentences: [], notes: [] }, () => findStateIn(dataDir, signers))
    : { sentences: [], notes: [] };
  const problems = [
    ...new Set(unread),
    ...state.sentences,
    ...ledger.problems.map(({ where, sentence }) => `${where}: ${sentence}`),
    ...certificates.problems,
    ...missing.map((sentence) => `anchor ${sentence}`),
    ...reports.problems,
    // A damaged file can be a difference from the ledger too.
    ...files.problems.map(problemSentence).filter((sentence) => !state.sentences.includes(sentence)),
  ];
  return {
    ok: problems.length === 0,
    ledger,
    certificates: certificates.checked,
    files: { files: files.files, bytes: files.bytes },
    problems,
    notes: [
      ...state.notes,
      ...certificates.notes,
      ...reports.notes,
      ...ledger.warnings.map(({ where, sentence }) => `${where}: ${sentence}`),
    ],
  };
}

/** The verdict on a ledger that could not be read. */
const noVerdict: LedgerVerdict = {
  ok: false,
  size: 0,
  rootHash: '',
  checkpoints: 0,
  signed: 0,
  problems: [],
  warnings: [],
};

/** What `act` finds; where files cannot be read, `otherwise`, and that is a problem. A ledger that is missing is thrown. */
async function attempt<T>(problems: string[], otherwise: T, act: () => T | Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (thrown) {
    const error = explainStorageError(thrown, 'the data folder') ?? thrown;
    const isFinding = error instanceof AppError && error.code === 'storage' && error.finding !== noLedger;
    if (!isFinding) throw thrown;
    problems.push(error.message);
    return otherwise;
  }
}

/** The judge of the anchors, where there is something to judge. */
function anchorJudgeOf(folder: string, policy: string | undefined): VerifyTask['anchors'] {
  if (policy === undefined && readTimeStampFiles(folder).length === 0) return undefined;
  return anchorJudge(folder, policy === undefined ? undefined : readPolicy(policy));
}

/** What is not as the ledger says. The mirror is opened for reading; where it cannot be, its tables are not looked at. */
async function findStateIn(
  dataDir: string,
  signers: readonly OutsideSigner[],
): Promise<{ sentences: string[]; notes: string[] }> {
  const notes: string[] = [];
  const ledger = readLedger(dataDir);
  refuseLostLedger(dataDir, ledger);
  const hasKey = signers.length > 0 || existsSync(keyPath(dataDir, signingKeyName));
  if (hasKey) refuseOtherKey(dataDir, ledger.rotations(), signers);
  else notes.push(`keys/${signingKeyName}: it is not here, so nothing could be added to the ledger`);
  const db = openMirror(dataDir, notes);
  try {
    return { sentences: (await findDifferencesIn(dataDir, db, ledger)).map(({ sentence }) => sentence), notes };
  } finally {
    db?.close();
  }
}

function openMirror(dataDir: string, notes: string[]): Database | null {
  if (!existsSync(databasePath(dataDir))) {
    notes.push('mirror.db: it is missing, so its tables were not held against the ledger');
    return null;
  }
  try {
    return openDatabaseReadOnly(dataDir);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    notes.push(`mirror.db: its tables were not held against the ledger: ${error.message}`);
    return null;
  }
}

/** What can be wrong with a certificate, as BUNDLES.md names it. */
const certificateSentences = {
  missing:
    'it is on the ledger, but its file is missing; restore reports/; where version and settings are those of its day, `audit certificate --format json` derives it again',
  unreadable: 'it is no file that can be read',
  not_on_ledger: 'it is not on the ledger, so nothing proves it',
  other_certificate: 'it is not the one on the ledger',
  says_otherwise: "it says something else than the ledger's entries",
  unsigned_certificate: 'no checkpoint covers its entry on the ledger: anyone may have written both',
} as const;
type CertificateProblem = keyof typeof certificateSentences;

/**
 * Holds the files of certificates against the ledger, of whose entries checkpoints cover so many, from the first. A superseded one
 * is a problem until its request has ended again, unless all that came is that the person was let in again, on purpose.
 */
function verifyCertificates(dataDir: string, signed: number): { checked: number; problems: string[]; notes: string[] } {
  const files = readCertificateFiles(dataDir);
  const histories = collectHistories();
  const words = collectLaterWords();
  const ledgerOrigin = readLedgerOrigin(dataDir);
  const problemOf = (entry: Extract<LedgerEntry, { type: 'certified' }>): CertificateProblem | null => {
    const text = files.get(certificateName(entry));
    if (text === undefined) return files.has(certificateName(entry)) ? 'unreadable' : 'missing';
    if (sha256(text) !== entry.certificate) return 'other_certificate';
    // Derived from the entries before it: a later generation of the request changes the history.
    if (ledgerOrigin === undefined || !follows(text, histories.of(entry.request), ledgerOrigin))
      return 'says_otherwise';
    return entry.seq < signed ? null : 'unsigned_certificate';
  };
  const found = new Map<string, CertificateProblem | null>();
  for (const entry of soundEntries(dataDir)) {
    if (entry.type === 'certified' && entry.certificate !== null) {
      const name = certificateName(entry);
      // After a kill, the same record may stand on the ledger twice. A certificate that fits one of them is right.
      if (found.get(name) !== null) found.set(name, problemOf(entry));
    }
    histories.take(entry);
    words.take(entry);
  }
  for (const [name, text] of files)
    if (!found.has(name)) found.set(name, text === undefined ? 'unreadable' : 'not_on_ledger');
  const problems = [...found].flatMap(([name, problem]) =>
    problem === null ? [] : `certificate ${name}: ${certificateSentences[problem]}`,
  );
  const notes: string[] = [];
  for (const [name, text] of files) {
    const certificate = found.get(name) === null && text !== undefined ? readCertificate(text) : undefined;
    if (text === undefined || !certificate) continue;
    const { request, generation } = certificate;
    const later = words.since(request, sha256(text));
    if (later.length === 0) continue;
    const { generation: newest, certified, sealed } = histories.of(request) ?? {};
    const isAgain = certified?.some((issued) => issued.generation > generation);
    const hasEnded = newest !== generation && sealed !== null;
    const isSettled = isAgain || hasEnded || later.every(({ type }) => type === 'readmitted');
    const said = later.map(({ entry, says }) => `${says} (entry ${entry})`).join(', ');
    (isSettled ? notes : problems).push(`certificate ${name}: superseded: the ledger says since: ${said}`);
  }
  return { checked: files.size, problems, notes };
}

/** Whether all that a certificate says follows from the history of its request. */
function follows(text: string, history: RequestHistory | undefined, ledgerOrigin: string): boolean {
  const present = readCertificate(text);
  const derived = history && present && deriveCertificate(history, { ledgerOrigin, stated: present.stated });
  return derived !== undefined && certificateText(derived) === text;
}

/** The entries that can be read, also of a ledger that is damaged elsewhere. */
function* soundEntries(dataDir: string): Generator<LedgerEntry> {
  for (const line of readLines(entriesPath(ledgerFolder(dataDir)))) {
    const entry = readEntry(line);
    if (typeof entry !== 'string') yield entry;
  }
}
