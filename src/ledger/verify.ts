import { existsSync } from 'node:fs';
import { systemClock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { readRegularFile } from '../core/folder.ts';
import {
  type Checkpoint,
  listCheckpointFiles,
  publicKeysPath,
  readCheckpoint,
  readCheckpointText,
  sizeOfFile,
} from './checkpoint.ts';
import { entriesPath, readLines } from './entry-file.ts';
import { readEntry } from './entry.ts';
import { finding, type Finding, type FindingCode } from './finding.ts';
import { keyChain, keyIndexAt, keyIndexOf, ledgerName, readVkeys, type KeyChain, type Rotation } from './key-chain.ts';
import { compactTree, leafHash } from './merkle.ts';
import { isNoteSignedBy, vkeyOf, type VerifierKey } from './note.ts';
import { recordOrder } from './record-order.ts';

/** What a verification of a ledger came to. */
export type LedgerVerdict = {
  /** Whether there is no problem. Warnings are none. */
  ok: boolean;
  size: number;
  /** The Merkle tree hash of all lines, as hex. */
  rootHash: string;
  /** How many files of checkpoints there are. */
  checkpoints: number;
  /** How many entries, from the first, a good checkpoint covers. */
  signed: number;
  problems: Finding[];
  warnings: Finding[];
};

/** What an auditor brings: the ledger's folder, and the texts that were kept elsewhere. */
export type VerifyTask = {
  folder: string;
  /** A public key of the ledger (vkey on a line; several lines are several keys). */
  publicKey?: string | undefined;
  /** A checkpoint of the ledger. */
  checkpoint?: string | undefined;
  /** The present time, in milliseconds since 1970: entries may be without a checkpoint for a day. */
  now?: number | undefined;
  /** Judges the anchors outside. `hasFirstKey`: whether it knows which key is the ledger's first. */
  anchors?:
    | { hasFirstKey: boolean; judge: (facts: AnchoredFacts) => Pick<LedgerVerdict, 'problems' | 'warnings'> }
    | undefined;
};

/** What anchors are judged by: the first key, all that are checkpoints, and when each entry was appended (NaN: nobody knows). */
export type AnchoredFacts = {
  first: VerifierKey | undefined;
  claims: readonly { where: string; checkpoint: Checkpoint; isGood: boolean }[];
  times: readonly number[];
  now: number;
};

/** How long an entry may be without a checkpoint that covers it. The program signs at the end of each run. */
const unsignedMaxMs = 86_400_000;

/** The code of a folder without a ledger. */
export const noLedger = 'no_ledger';

/**
 * Verifies a ledger from its folder alone: each line, the order of records, and that each checkpoint is signed with the
 * key of its time and is the root of the entries that it covers, so that each extends the one before. Only a key and a
 * checkpoint that were kept elsewhere show that ledger and checkpoints were not replaced, or cut, together.
 * Throws `storage` when the folder cannot be read.
 */
export function verifyLedger(task: VerifyTask): LedgerVerdict {
  const { folder } = task;
  if (!existsSync(folder))
    throw new AppError(`there is no ledger at ${folder}`, {
      code: 'storage',
      finding: noLedger,
      hint: 'name the folder ledger/ of a data folder, or a copy of it',
    });
  const claims = readClaims(task);
  const entries = verifyEntries(folder, claims);
  const keys = verifyKeys(task, entries.rotations, claims.length > 0);
  const judged = claims.map((claim) => ({ claim, problem: claimProblem(claim, entries, keys.chain) }));
  const good = judged.flatMap(({ claim: { checkpoint }, problem }) =>
    checkpoint && !problem ? [checkpoint.size] : [],
  );
  const signed = good.reduce((most, size) => Math.max(most, size), 0);
  const problems = [
    ...entries.problems,
    ...keys.problems,
    ...judged.flatMap(({ claim, problem }) => (problem ? [finding(claim.where, problem)] : [])),
  ];
  const isTrusted = good.some((size) => keyIndexAt(keys.chain, size) >= keys.trustedFrom);
  if (task.publicKey !== undefined && keys.trustedFrom !== -1 && entries.size > 0 && !isTrusted)
    problems.push(finding('kept public key', 'not_signed_by_key'));
  const warnings = [...entries.warnings];
  const now = task.now ?? systemClock.now();
  const anchored = task.anchors?.judge({
    first: keys.chain[0]?.key,
    claims: judged.flatMap(({ claim: { where, checkpoint }, problem }) =>
      checkpoint ? [{ where, checkpoint, isGood: !problem }] : [],
    ),
    times: entries.times,
    now,
  });
  problems.push(...(anchored?.problems ?? []));
  warnings.push(...(anchored?.warnings ?? []));
  if (signed < entries.size) {
    warnings.push(finding(`entry ${signed}`, 'unsigned_entries'));
    if (signed === 0) problems.push(finding('ledger', 'nothing_signed'));
    else if (now - (entries.times[signed] ?? NaN) > unsignedMaxMs)
      problems.push(finding(`entry ${signed}`, 'unsigned_for_long'));
  }
  if (task.publicKey === undefined && task.anchors?.hasFirstKey !== true)
    warnings.push(finding('ledger', 'own_keys_only'));
  if (task.checkpoint === undefined) warnings.push(finding('ledger', 'no_kept_checkpoint'));
  return {
    ok: problems.length === 0,
    size: entries.size,
    rootHash: entries.rootHash,
    checkpoints: claims.filter(({ isKept }) => !isKept).length,
    signed,
    problems,
    warnings,
  };
}

/** A text that has to be a checkpoint of this ledger. `size`: what its file is named after; undefined for any other name. */
type Claim = { where: string; isKept: boolean; size: number | undefined; checkpoint: Checkpoint | undefined };

function readClaims({ folder, checkpoint }: VerifyTask): Claim[] {
  const claims = listCheckpointFiles(folder).map((file): Claim => {
    return {
      where: `checkpoint ${file.replace(/\.txt$/, '')}`,
      isKept: false,
      size: sizeOfFile(file),
      checkpoint: readCheckpoint(readCheckpointText(folder, file) ?? ''),
    };
  });
  if (checkpoint === undefined) return claims;
  const kept = readCheckpoint(checkpoint);
  return [...claims, { where: 'kept checkpoint', isKept: true, size: kept?.size, checkpoint: kept }];
}

type Entries = {
  size: number;
  rootHash: string;
  /** The roots at the sizes of all checkpoints. */
  roots: ReadonlyMap<number, Buffer>;
  /** When each entry was appended, in milliseconds since 1970; NaN for a damaged one. */
  times: readonly number[];
  rotations: Rotation[];
  problems: Finding[];
  warnings: Finding[];
};

function verifyEntries(folder: string, claims: readonly Claim[]): Entries {
  const wanted = new Set(claims.map(({ checkpoint }) => checkpoint?.size));
  const tree = compactTree();
  const order = recordOrder();
  const roots = new Map([[0, tree.rootHash()]]);
  const times: number[] = [];
  const rotations: Rotation[] = [];
  const problems: Finding[] = [];
  const warnings: Finding[] = [];
  let expectedSeq = 0;
  let lastAt = '';
  for (const line of readLines(entriesPath(folder), () => problems.push(finding('ledger', 'torn_line')))) {
    const where = `entry ${tree.size()}`;
    tree.append(leafHash(line));
    times.push(NaN);
    if (wanted.has(tree.size())) roots.set(tree.size(), tree.rootHash());
    const entry = readEntry(line);
    if (typeof entry === 'string') {
      problems.push(finding(where, entry));
      expectedSeq += 1;
      continue;
    }
    const { seq, at, ...record } = entry;
    const outOfOrder = order.take(record);
    if (record.type === 'key_rotated') rotations.push({ ...record, seq: tree.size() - 1 });
    times[tree.size() - 1] = Date.parse(at);
    if (seq !== expectedSeq) problems.push(finding(where, 'wrong_seq'));
    if (at < lastAt) warnings.push(finding(where, 'clock_set_back'));
    if (outOfOrder) problems.push(finding(where, outOfOrder));
    expectedSeq = seq + 1;
    lastAt = at;
  }
  const rootHash = tree.rootHash().toString('hex');
  return { size: tree.size(), rootHash, roots, times, rotations, problems, warnings };
}

/** `trustedFrom`: where in the chain the first key stands that was kept elsewhere; -1 when none does. */
type Keys = { chain: KeyChain; trustedFrom: number; problems: Finding[] };

function verifyKeys({ folder, publicKey }: VerifyTask, rotations: readonly Rotation[], hasCheckpoints: boolean): Keys {
  const none = (where: string, problem: FindingCode): Keys => ({
    chain: [],
    trustedFrom: -1,
    problems: [finding(where, problem)],
  });
  const list = readRegularFile(publicKeysPath(folder));
  if (list === undefined) {
    const isNeeded = hasCheckpoints || rotations.length > 0 || publicKey !== undefined;
    return isNeeded ? none('public keys', 'no_public_key') : { chain: [], trustedFrom: -1, problems: [] };
  }
  const listed = readVkeys(list);
  const first = listed?.[0];
  if (!first) return none('public keys', 'bad_public_key');
  const { chain, broken } = keyChain(first, rotations);
  const problems = broken.map((seq) => finding(`entry ${seq}`, 'broken_rotation'));
  if (first.name !== ledgerName(first.publicKey)) problems.push(finding('public keys', 'wrong_name'));
  // The list may lag behind the ledger: a rotation that was killed halfway is brought to its end later.
  const isListed = listed.every((key, index) => {
    const link = chain[index];
    return link !== undefined && vkeyOf(link.key) === vkeyOf(key);
  });
  if (!isListed) problems.push(finding('public keys', 'unlisted_key'));
  if (publicKey === undefined) return { chain, trustedFrom: -1, problems };
  const places = readVkeys(publicKey)?.map((key) => keyIndexOf(chain, key));
  if (!places) problems.push(finding('kept public key', 'bad_public_key'));
  else if (places.includes(-1)) problems.push(finding('kept public key', 'wrong_public_key'));
  return { chain, trustedFrom: places ? Math.min(...places) : -1, problems };
}

function claimProblem({ size, checkpoint }: Claim, entries: Entries, chain: KeyChain): FindingCode | undefined {
  if (!checkpoint || size === undefined) return 'not_a_checkpoint';
  if (checkpoint.size !== size) return 'wrong_size';
  const link = chain[keyIndexAt(chain, size)];
  if (!link) return 'bad_signature';
  if (checkpoint.origin !== link.key.name) return 'wrong_origin';
  if (size > entries.size) return 'beyond_ledger';
  if (!isNoteSignedBy(checkpoint.note, link.key)) return 'bad_signature';
  return entries.roots.get(size)?.equals(checkpoint.root) === true ? undefined : 'wrong_root';
}
