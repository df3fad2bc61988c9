import { AppError } from '../core/errors.ts';
import { collectBoundState } from './bound-state.ts';
import { checkpointName, checkpointOfSize, listCheckpointSizes } from './checkpoint.ts';
import { entriesPath, readLines } from './entry-file.ts';
import { readEntry, type LedgerEntry, type LineProblem } from './entry.ts';
import { isOfRequest } from './record.ts';
import type { Rotation } from './key-chain.ts';
import { lineIndex, type LineIndex } from './line-index.ts';
import { compactTree, leafHash, type CompactTree } from './merkle.ts';
import { collectHistories, type Histories } from './histories.ts';

/** An entry that is on disk from now on, with what the tree needs of its line. */
export type Written = { entry: LedgerEntry; leaf: Buffer; bytes: number };

/** Lines that were kept elsewhere, each of which has to be the next entry. What was read of them is added to `taken`. */
export function* checkedLines(lines: Iterable<Buffer>, from: number, taken: Written[]): Generator<Buffer> {
  for (const line of lines) {
    const seq = from + taken.length;
    const entry = readEntry(line);
    if (typeof entry === 'string') throw damaged(`entry ${seq} is damaged where it was kept first (${entry})`);
    if (entry.seq !== seq) throw damaged(`entry ${seq} is numbered ${entry.seq} where it was kept first`);
    taken.push({ entry, leaf: leafHash(line), bytes: line.length });
    yield line;
  }
}

/** A copy of the state on a machine of a cluster, which is not gone. `isForgotten`: an operator said that its disk is. */
export type Copy = { machine: string; isForgotten: boolean };

/** What the entries of a ledger come to. */
export type LedgerState = {
  bytes: number;
  /** How many entries there are up to the last one about a request. */
  requestEntries: number;
  /** The root hash of those. */
  requestRoot: () => Buffer;
  epoch: number;
  tree: CompactTree;
  publishedHeads: Map<number, string>;
  lines: LineIndex;
  holders: { machine: string; copy: string; seq: number }[];
  copies: Map<string, Copy>;
  rotations: Rotation[];
  histories: Histories;
  bound: ReturnType<typeof collectBoundState>;
};

/** What the folder holds now, once it is known to be what the checkpoints were signed for. */
export function readState(folder: string): LedgerState {
  const reading = readingState(folder);
  for (;;) {
    const { done, value } = reading.next();
    if (done === true) return value;
  }
}

/** Does as `readState` does, and yields between the lines. */
export function* readingState(folder: string): Generator<void, LedgerState> {
  const state: LedgerState = {
    bytes: 0,
    requestEntries: 0,
    requestRoot: compactTree().rootHashLater(),
    epoch: 0,
    tree: compactTree(),
    publishedHeads: new Map(),
    lines: lineIndex(entriesPath(folder)),
    holders: [],
    copies: new Map(),
    rotations: [],
    histories: collectHistories(),
    bound: collectBoundState(),
  };
  const sizes = listCheckpointSizes(folder);
  const isCheckpointed = new Set(sizes);
  for (const { entry, line } of readLedgerLines(folder)) {
    const leaf = leafHash(line);
    state.bytes += line.length + 1;
    state.lines.add(leaf, line.length);
    take(state, entry, leaf);
    if (isCheckpointed.has(state.tree.size())) checkCheckpoint(folder, state.tree);
    yield;
  }
  const newest = sizes.at(-1) ?? 0;
  if (newest > state.tree.size())
    throw damaged(
      `checkpoint ${checkpointName(newest)} covers more entries than the ${state.tree.size()} that there are`,
    );
  return state;
}

/** Takes the next entry. `leaf`: of its line. */
export function take(state: LedgerState, record: LedgerEntry, leaf: Buffer): void {
  state.tree.append(leaf);
  state.histories.take(record);
  state.bound.take(record);
  if (isOfRequest(record)) {
    state.requestEntries = state.tree.size();
    state.requestRoot = state.tree.rootHashLater();
  }
  if (record.type === 'fenced') state.epoch = Math.max(state.epoch, record.epoch);
  if (record.type === 'published') state.publishedHeads.set(state.tree.size(), state.tree.rootHash().toString('hex'));
  if (record.type === 'taken_over') {
    const { machine, copy, seq } = record;
    state.holders.push({ machine, copy, seq });
  }
  takeCopy(state.copies, record);
  if (record.type === 'key_rotated') state.rotations.push(record);
}

function takeCopy(copies: Map<string, Copy>, record: LedgerEntry): void {
  if (record.type === 'taken_over' || record.type === 'copy_made')
    copies.set(record.copy, { machine: record.machine, isForgotten: false });
  else if (record.type === 'copy_gone') copies.delete(record.copy);
  else if (record.type === 'copy_forgotten') {
    const known = copies.get(record.copy);
    if (known) copies.set(record.copy, { ...known, isForgotten: true });
  }
}

function checkCheckpoint(folder: string, tree: CompactTree): void {
  const checkpoint = checkpointOfSize(folder, tree.size());
  if (checkpoint?.size === tree.size() && checkpoint.root.equals(tree.rootHash())) return;
  throw damaged(`checkpoint ${checkpointName(tree.size())} was not signed for the entries that there are`);
}

/** The entries of a folder by their lines. Throws `storage` at one that is damaged. */
export function* readLedgerLines(folder: string): Generator<{ entry: LedgerEntry; line: Buffer }> {
  const path = entriesPath(folder);
  let seq = 0;
  for (const line of readLines(path)) {
    const entry = readEntry(line);
    if (typeof entry === 'string') throw damaged(`line ${seq + 1} of ${path} is damaged (${entry})`, hintAt(entry));
    if (entry.seq !== seq) throw damaged(`line ${seq + 1} of ${path} is numbered ${entry.seq}, expected ${seq}`);
    yield { entry, line };
    seq += 1;
  }
}

const restoreHint = 'restore the folder ledger/ from a backup; `analytics-mirror audit verify` tells all that is wrong';

/** A newer version writes words that this one does not know: an older ledger would lack the requests that were made since. */
function hintAt(problem: LineProblem): string {
  if (problem !== 'not_in_schema') return restoreHint;
  return `update the program, where a newer version has written here, and restore nothing; else ${restoreHint}`;
}

/** The error of a ledger that is not as it was written. */
export function damaged(message: string, hint = restoreHint): AppError {
  return new AppError(`the ledger is damaged: ${message}`, { code: 'storage', hint });
}
