import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { verdictWords } from '../../docs/verifier/verdict-words.mjs';
import { readPolicy, verify, type Place, type Verdict } from '../../docs/verifier/verify.mjs';
import { AppError, usageError } from '../core/errors.ts';
import { readWholeFile } from '../core/folder.ts';

/** One thing found. `where`: `entry 17` (from 0), `checkpoint 000000120`, `public keys`, `kept checkpoint`, … */
type Finding = Place & { sentence: string };

/** What a verification of a ledger came to. Each finding has its sentence. */
export type LedgerVerdict = Omit<Verdict, 'problems' | 'warnings'> & { problems: Finding[]; warnings: Finding[] };

/** What an auditor brings: the ledger's folder, and the texts that were kept elsewhere. */
export type VerifyTask = Parameters<typeof verify>[0];

/** The code of a folder without a ledger. */
export const noLedger = 'no_ledger';

/** The name of the page that checks ledgers, certificates, bundles and receipts in a browser. */
export const verifierPageName = 'verify.html';

/** The file of that page, as the program brings it. */
export const verifierPage = fileURLToPath(new URL(`../../docs/verifier/${verifierPageName}`, import.meta.url));

/** Whether a file's bytes are the page of the verifier. */
export function isVerifierPage(bytes: Buffer): boolean {
  return readWholeFile(verifierPage).equals(bytes);
}

/**
 * Verifies a ledger's folder by the verifier that auditors use (`docs/verifier/verify.mjs`). Throws `storage` where there is no
 * folder, `usage` for a text that is no policy, and the system's error where the folder cannot be read.
 */
export function verifyLedger(task: VerifyTask): LedgerVerdict {
  if (!existsSync(task.folder))
    throw new AppError(`there is no ledger at ${task.folder}`, {
      code: 'storage',
      finding: noLedger,
      hint: 'name the folder ledger/ of a data folder, or a copy of it',
    });
  refuseNoPolicy(task.policy);
  const { problems, warnings, ...verdict } = verify(task);
  return { ...verdict, problems: problems.map(finding), warnings: warnings.map(finding) };
}

function refuseNoPolicy(policy: string | undefined): void {
  try {
    if (policy !== undefined) readPolicy(policy);
  } catch (error) {
    throw usageError(
      error instanceof Error ? error.message : String(error),
      'docs/verifier/ANCHORS.md describes a policy',
    );
  }
}

/** A finding with its sentence. */
function finding({ where, problem }: Place): Finding {
  return { where, problem, sentence: verdictWords(problem) };
}
