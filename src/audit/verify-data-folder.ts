import { existsSync } from 'node:fs';
import { AppError } from '../core/errors.ts';
import { keyPath } from '../core/secret-key.ts';
import { explainStorageError } from '../core/storage-error.ts';
import { refuseLostLedger } from '../job/lost-ledger.ts';
import { refuseOtherLedger } from '../job/other-ledger.ts';
import { findDifferencesIn } from '../erasure/bound/differences.ts';
import { readCertificate } from '../erasure/proof/certificate.ts';
import { certificateName, readCertificateFiles } from '../erasure/proof/certificate-file.ts';
import { collectHistories } from '../ledger/histories.ts';
import { entriesPath, ledgerFolder, readLines } from '../ledger/entry-file.ts';
import { readEntry, type LedgerEntry } from '../ledger/entry.ts';
import { readLedger } from '../ledger/ledger.ts';
import type { OutsideSigner } from '../ledger/outside-signer.ts';
import { refuseOtherKey, signingKeyName } from '../ledger/signing-key.ts';
import { noLedger, verifyLedger, type LedgerVerdict, type VerifyTask } from '../ledger/verify.ts';
import { databasePath, openDatabaseReadOnly, type Database } from '../mirror/database.ts';
import { verifyReports } from './verify-reports.ts';
import { publishedFilesIn } from '../snapshot/published-files.ts';
import { problemSentence, verifySnapshotsTwice } from '../snapshot/verify.ts';

/** The result of verifying a data folder. */
export type FolderVerdict = {
  /** Whether there is no problem. */
  ok: boolean;
  ledger: LedgerVerdict;
  certificates: number;
  files: { files: number; bytes: number };
  /** Whether the tables of mirror.db were held against the ledger. */
  hasReadMirror: boolean;
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
  const issued = readCertificateFiles(dataDir);
  const bytes = [...issued].flatMap(([name, text]) => (text === undefined ? [] : [[name, Buffer.from(text)] as const]));
  const verdict = await attempt(unread, noVerdict, async () =>
    verifyLedger({ folder, ...kept, policy, certificates: Object.fromEntries(bytes) }),
  );
  const own = verdict.problems.filter(({ where }) => !where.startsWith('certificate '));
  const ledger = { ...verdict, ok: verdict !== noVerdict && own.length === 0, problems: own };
  const certificates = await attempt(unread, { checked: 0, problems: [], notes: [] }, () =>
    judgeCertificates(issued, verdict, soundEntries(dataDir)),
  );
  const reports = await attempt(unread, { problems: [], notes: [] }, () =>
    verifyReports(dataDir, soundEntries(dataDir)),
  );
  const files = await attempt(unread, { files: 0, bytes: 0, problems: [] }, () =>
    verifySnapshotsTwice(publishedFilesIn(dataDir), signal),
  );
  const unseen = { hasReadMirror: false, sentences: [], notes: [] };
  const state = ledger.ok ? await attempt(unread, unseen, () => findStateIn(dataDir, signers)) : unseen;
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
    hasReadMirror: state.hasReadMirror,
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

/** What is not as the ledger says. The mirror is opened for reading; where it cannot be, that is said, and its tables are not looked at. */
async function findStateIn(
  dataDir: string,
  signers: readonly OutsideSigner[],
): Promise<Pick<FolderVerdict, 'hasReadMirror' | 'notes'> & { sentences: string[] }> {
  const notes: string[] = [];
  const unread: string[] = [];
  const ledger = readLedger(dataDir);
  refuseLostLedger(dataDir, ledger);
  const hasKey = signers.length > 0 || existsSync(keyPath(dataDir, signingKeyName));
  if (hasKey) refuseOtherKey(dataDir, ledger.rotations(), signers);
  else notes.push(`keys/${signingKeyName}: it is not here, so nothing could be added to the ledger`);
  const isHere = existsSync(databasePath(dataDir));
  if (!isHere) notes.push('mirror.db: it is missing, so its tables were not held against the ledger');
  using db = isHere ? openMirror(dataDir, { unread, notes }) : null;
  if (db) refuseOtherLedger(db, ledger);
  const found = await findDifferencesIn(dataDir, db, ledger);
  return { hasReadMirror: db !== null, sentences: [...unread, ...found.map(({ sentence }) => sentence)], notes };
}

/** Null where it cannot be opened: a mirror that this user is refused, as of a copy that others may read too, is only noted. */
function openMirror(
  dataDir: string,
  { unread, notes }: Record<'unread' | 'notes', string[]>,
): (Database & Disposable) | null {
  try {
    return openDatabaseReadOnly(dataDir);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message, hint } = error;
    const sentence = `mirror.db: its tables were not held against the ledger: ${message}; ${hint}`;
    (code === 'storage' ? unread : notes).push(sentence);
    return null;
  }
}

/**
 * What is wrong with the files of certificates, by the verdict on them: in words, and which are missing. A superseded one is a
 * problem until its request has ended again, unless all that came is that the person was let in again, on purpose.
 */
function judgeCertificates(
  files: ReturnType<typeof readCertificateFiles>,
  { problems: found, later = [] }: LedgerVerdict,
  entries: Iterable<LedgerEntry>,
): { checked: number; problems: string[]; notes: string[] } {
  const histories = collectHistories();
  const missing = new Set<string>();
  for (const entry of entries) {
    histories.take(entry);
    const name = entry.type === 'certified' && entry.certificate !== null ? certificateName(entry) : undefined;
    if (name !== undefined && !files.has(name)) missing.add(name);
  }
  const problems = [...missing].map((name) => `certificate ${name}: ${missingSentence}`);
  const notes: string[] = [];
  const findings = new Map(found.map((finding) => [finding.where, finding]));
  const laterWords = new Map(later);
  for (const [name, text] of files) {
    const certificate = text === undefined ? undefined : readCertificate(text);
    const finding = findings.get(`certificate ${name}`);
    if (text === undefined) problems.push(`certificate ${name}: it is no file that can be read`);
    else if (certificate && certificateName(certificate) !== name)
      problems.push(`certificate ${name}: it is of another request, or of another generation, than its name says`);
    else if (finding?.problem !== 'superseded' || !certificate) {
      if (finding) problems.push(`${finding.where}: ${finding.sentence}`);
    } else {
      const { generation: newest, certified, sealed } = histories.of(certificate.request) ?? {};
      const isAgain = certified?.some((issued) => issued.generation > certificate.generation);
      const hasEnded = newest !== certificate.generation && sealed !== null;
      const words = laterWords.get(name) ?? [];
      const isSettled = isAgain || hasEnded || words.every(({ says }) => says === 'readmitted');
      const said = words.map(({ seq, says }) => `${says} (entry ${seq})`).join(', ');
      (isSettled ? notes : problems).push(`certificate ${name}: superseded: the ledger says since: ${said}`);
    }
  }
  return { checked: files.size, problems, notes };
}

const missingSentence =
  'it is on the ledger, but its file is missing; restore reports/; where version and settings are those of its day, `audit certificate --format json` derives it again';

/** The entries that can be read, also of a ledger that is damaged elsewhere. */
function* soundEntries(dataDir: string): Generator<LedgerEntry> {
  for (const line of readLines(entriesPath(ledgerFolder(dataDir)))) {
    const entry = readEntry(line);
    if (typeof entry !== 'string') yield entry;
  }
}
