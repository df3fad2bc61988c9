import { existsSync } from 'node:fs';
import { isoTime, type Clock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { pausing } from '../core/pausing.ts';
import { explainStorageError } from '../core/storage-error.ts';
import {
  checkpointName,
  checkpointText,
  createCheckpointFile,
  listCheckpointSizes,
  readCheckpoint,
  readCheckpointFile,
} from './checkpoint.ts';
import { appendLines, cutTo, entriesPath, ledgerFolder, readLines } from './entry-file.ts';
import { entriesIn, entryLine, type LedgerEntry } from './entry.ts';
import { collectBoundState, type BoundState } from './bound-state.ts';
import { compactTree, leafHash, type CompactTree } from './merkle.ts';
import { lineIndex, type LineIndex } from './line-index.ts';
import type { Rotation } from './key-chain.ts';
import { splitRecord, type LedgerRecord } from './record.ts';
import { collectHistories, type Histories } from './request-history.ts';
import type { OutsideSigner } from './outside-signer.ts';
import { prepareRotation, signingKey } from './signing-key.ts';

/** How many entries there are, and what they hash to: the Merkle tree hash of RFC 6962, as hex. */
type TreeHead = { size: number; rootHash: string };

/** The ledger, to be read. */
export type LedgerReader = {
  /**
   * Every entry, in order, in constant memory. A line of an earlier version that is longer than `lineBytesMax` is several
   * entries of one number. Throws `storage`, with the line's number, at one that is damaged.
   */
  entries(): Iterable<LedgerEntry>;
  size(): number;
  /** The greatest epoch whose fence stands; 0 before the first. */
  epoch(): number;
  /** The greatest epoch whose fence was begun: after a kill, that is one more than `epoch`. */
  begunEpoch(): number;
  head(): TreeHead;
  /** The root hash after each publication, by the size of the ledger then, in order. */
  publishedHeads: ReadonlyMap<number, string>;
  /** The numbers of the entries that changed the signing key. */
  rotations(): readonly number[];
  /** Where the lines lie, and what they hash to: all that a proof of an entry needs, so that it does not read the ledger again. */
  lines: Pick<LineIndex, 'leaves' | 'read'>;
  /** What the disk and the mirror have to be like, by the entries so far. */
  bound: BoundState;
  /**
   * The history of each request, folded from the entries as they are read at opening and appended later, so that nothing
   * else in a run reads the ledger again. It takes about 3 kB a request, so some 150 MB for a
   * million entries; entries and MACs are not kept.
   */
  histories: Pick<Histories, 'of' | 'all'>;
};

/** The ledger, to be read and to grow. */
export type Ledger = LedgerReader & {
  /**
   * Appends records, with one flush, on disk for good when this returns. A record with a long list becomes several entries.
   * Throws, and has written nothing, when a record is none that the ledger takes, when making one throws, when the disk
   * refuses (`storage`), or when the file is not as this ledger left it (`storage`).
   */
  append(records: Iterable<LedgerRecord>): void;
  /** How many entries, from the first, a checkpoint covers. */
  signed(): number;
  /** Signs the present head, and returns it with the text of its checkpoint; one that is there already stays. */
  checkpoint(): TreeHead & { text: string };
  /** Replaces the signing key: checkpoints of more entries than now are signed with another one. */
  rotateKey(): void;
};

/**
 * Opens the ledger of a data folder, reading all of it once. What a kill left after the last whole line is cut off. One
 * process at a time: the caller holds the lease. `outside`: the signing keys that are not in the data folder. Throws `storage` when an entry is damaged, or when the entries are not
 * those that a checkpoint was signed for.
 */
export function openLedger(dataDir: string, clock: Clock, outside: readonly OutsideSigner[] = []): Ledger {
  return ledgerOf(dataDir, clock, outside, readState(ledgerFolder(dataDir)));
}

/** Opens the ledger as `openLedger` does. Other work goes on meanwhile: one person can have a million entries of the fence. */
export async function openLedgerPausing(
  dataDir: string,
  clock: Clock,
  outside: readonly OutsideSigner[],
  signal: AbortSignal,
): Promise<Ledger> {
  const pause = pausing(signal);
  const reading = readingState(ledgerFolder(dataDir));
  let read = reading.next();
  for (; read.done !== true; read = reading.next()) await pause();
  return ledgerOf(dataDir, clock, outside, read.value);
}

function ledgerOf(dataDir: string, clock: Clock, outside: readonly OutsideSigner[], state: LedgerState): Ledger {
  const folder = ledgerFolder(dataDir);
  const path = entriesPath(folder);
  if (existsSync(path)) cutTo(path, state.bytes);
  const append: Ledger['append'] = (records) => {
    if (Array.isArray(records) && records.length === 0) return;
    const at = isoTime(clock.now());
    const size = state.tree.size();
    const taken: { entry: LedgerEntry; leaf: Buffer; bytes: number }[] = [];
    const linesOf = function* (): Generator<Buffer> {
      for (const whole of records)
        for (const record of splitRecord(whole)) {
          const seq = size + taken.length;
          const line = entryLine(record, seq, at);
          taken.push({ entry: { ...record, seq, at }, leaf: leafHash(line), bytes: line.length });
          yield line;
        }
    };
    state.bytes = appendLines(path, linesOf(), state.bytes);
    for (const { entry, leaf, bytes } of taken) {
      state.lines.add(leaf, bytes);
      take(state, entry, leaf);
    }
  };
  const checkpoint: Ledger['checkpoint'] = () => {
    const { size, rootHash } = headOf(state);
    try {
      const signer = signingKey(dataDir, state.rotations.at(-1), outside);
      const root = Buffer.from(rootHash, 'hex');
      const text = readCheckpointFile(folder, size) ?? checkpointText({ size, root }, signer);
      createCheckpointFile(folder, size, text);
      state.signed = size;
      return { size, rootHash, text };
    } catch (error) {
      throw explainStorageError(error, folder) ?? error;
    }
  };
  return {
    ...readerOf(folder, state),
    append,
    signed: () => state.signed,
    checkpoint,
    rotateKey: () => {
      // So that the old key has vouched for all that came before.
      checkpoint();
      append([prepareRotation(dataDir, signingKey(dataDir, state.rotations.at(-1), outside), outside)]);
      signingKey(dataDir, state.rotations.at(-1), outside);
    },
  };
}

/** The ledger of a data folder as it is now, for reading only. Throws as `openLedger` does. */
export function readLedger(dataDir: string): LedgerReader {
  const folder = ledgerFolder(dataDir);
  return readerOf(folder, readState(folder));
}

type LedgerState = {
  bytes: number;
  signed: number;
  epoch: number;
  begunEpoch: number;
  tree: CompactTree;
  publishedHeads: Map<number, string>;
  lines: LineIndex;
  rotations: Rotation[];
  histories: Histories;
  bound: ReturnType<typeof collectBoundState>;
};

/** What the folder holds now, once it is known to be what the checkpoints were signed for. */
function readState(folder: string): LedgerState {
  const reading = readingState(folder);
  for (;;) {
    const { done, value } = reading.next();
    if (done === true) return value;
  }
}

/** Does as `readState` does, and yields between the lines. */
function* readingState(folder: string): Generator<void, LedgerState> {
  const state: LedgerState = {
    bytes: 0,
    signed: 0,
    epoch: 0,
    begunEpoch: 0,
    tree: compactTree(),
    publishedHeads: new Map(),
    lines: lineIndex(entriesPath(folder)),
    rotations: [],
    histories: collectHistories(),
    bound: collectBoundState(),
  };
  const sizes = listCheckpointSizes(folder);
  const isCheckpointed = new Set(sizes);
  for (const { entries, line } of readLedgerLines(folder)) {
    state.bytes += line.length + 1;
    let leaf: Buffer | undefined = leafHash(line);
    state.lines.add(leaf, line.length);
    for (const entry of entries) {
      take(state, entry, leaf);
      // An older line that holds several entries is one leaf.
      leaf = undefined;
    }
    if (isCheckpointed.has(state.tree.size())) checkCheckpoint(folder, state.tree);
    yield;
  }
  state.signed = sizes.at(-1) ?? 0;
  if (state.signed > state.tree.size())
    throw damaged(
      `checkpoint ${checkpointName(state.signed)} covers more entries than the ${state.tree.size()} that there are`,
    );
  return state;
}

function take(state: LedgerState, record: LedgerEntry, leaf: Buffer | undefined): void {
  if (leaf) state.tree.append(leaf);
  state.histories.take(record);
  state.bound.take(record);
  if (record.type === 'fencing') state.begunEpoch = Math.max(state.begunEpoch, record.epoch);
  if (record.type === 'fenced') state.epoch = Math.max(state.epoch, record.epoch);
  if (record.type === 'published') state.publishedHeads.set(state.tree.size(), headOf(state).rootHash);
  if (record.type === 'key_rotated') state.rotations.push(record);
}

function checkCheckpoint(folder: string, tree: CompactTree): void {
  const checkpoint = readCheckpoint(readCheckpointFile(folder, tree.size()) ?? '');
  if (checkpoint?.size === tree.size() && checkpoint.root.equals(tree.rootHash())) return;
  throw damaged(`checkpoint ${checkpointName(tree.size())} was not signed for the entries that there are`);
}

function headOf({ tree }: LedgerState): TreeHead {
  return { size: tree.size(), rootHash: tree.rootHash().toString('hex') };
}

function readerOf(folder: string, state: LedgerState): LedgerReader {
  return {
    entries: function* () {
      for (const { entries } of readLedgerLines(folder)) yield* entries;
    },
    size: () => state.tree.size(),
    epoch: () => state.epoch,
    begunEpoch: () => state.begunEpoch,
    head: () => headOf(state),
    publishedHeads: state.publishedHeads,
    rotations: () => state.rotations.map(({ seq }) => seq),
    lines: state.lines,
    histories: state.histories,
    bound: state.bound.state,
  };
}

function* readLedgerLines(folder: string): Generator<{ entries: Iterable<LedgerEntry>; line: Buffer }> {
  const path = entriesPath(folder);
  let seq = 0;
  for (const line of readLines(path)) {
    const entries = entriesIn(line);
    if (typeof entries === 'string') throw damaged(`line ${seq + 1} of ${path} is damaged (${entries})`);
    for (const entry of entries) {
      if (entry.seq === seq) break;
      throw damaged(`line ${seq + 1} of ${path} is numbered ${entry.seq}, expected ${seq}`);
    }
    yield { entries, line };
    seq += 1;
  }
}

function damaged(message: string): AppError {
  return new AppError(`the ledger is damaged: ${message}`, {
    code: 'storage',
    hint: 'restore the folder ledger/ from a backup; `analytics-mirror audit verify` tells all that is wrong',
  });
}
