import { existsSync } from 'node:fs';
import { isoTime, type Clock } from '../core/clock.ts';
import { pausing } from '../core/pausing.ts';
import { explainStorageError } from '../core/storage-error.ts';
import type { BoundState } from './bound-state.ts';
import {
  checkpointName,
  checkpointText,
  createCheckpointFile,
  isCheckpointSigned,
  listCheckpointSizes,
  readCheckpointFile,
} from './checkpoint.ts';
import { appendLines, cutTo, entriesPath, ledgerFolder } from './entry-file.ts';
import { entryLine, type LedgerEntry } from './entry.ts';
import {
  checkedLines,
  damaged,
  readingState,
  readLedgerLines,
  readState,
  take,
  type Copy,
  type LedgerState,
  type Written,
} from './ledger-state.ts';
import type { Rotation } from './key-chain.ts';
import type { LineIndex } from './line-index.ts';
import { leafHash, type CompactTree } from './merkle.ts';
import { rootOf } from './merkle-proof.ts';
import { isSignedText, verifierOf } from './note.ts';
import type { OutsideSigner } from './outside-signer.ts';
import { splitRecord, type LedgerRecord } from './record.ts';
import type { Histories } from './histories.ts';
import { prepareRotation, refuseOtherKey, signingKey } from './signing-key.ts';

/** How many entries there are, and what they hash to: the Merkle tree hash of RFC 6962, as hex. */
type TreeHead = { size: number; rootHash: string };

/** A durable copy of the entries, kept first. A call returns when its entries are stored, or throws. */
export type EntryStore = {
  /** Keeps lines behind the entries of a tree, where nothing stands yet. Returns them once more, to be written here. */
  keep(behind: EntriesBefore, lines: Iterable<Buffer>): Iterable<Buffer>;
  /** The lines that were kept together behind these entries; undefined where none were. Throws `storage` where they are of somebody else. */
  read(behind: EntriesBefore): Iterable<Buffer> | undefined;
  /** Keeps the keys of the data folder: called before what they sign is seen. */
  keepKeys(): void;
};

/** The entries of a ledger before an append, by their number and root hash. */
export type EntriesBefore = Pick<CompactTree, 'size' | 'rootHash'>;

/** The ledger, to be read. */
export type LedgerReader = {
  /** Every entry, in order, in constant memory. Throws `storage`, with the line's number, at a line that is damaged. */
  entries(): Iterable<LedgerEntry>;
  size(): number;
  /** How many entries there are up to the last one about a request. */
  requestEntries(): number;
  /** The root hash of the first entries, so many, in hexadecimal digits. */
  rootOfFirst(entries: number): string;
  /** The greatest epoch whose fence stands; 0 before the first. */
  epoch(): number;
  head(): TreeHead;
  /** The root hash after each publication, by the size of the ledger then, in order. */
  publishedHeads: ReadonlyMap<number, string>;
  /** The machines that took the project over, in order, with their copies, and the numbers of those entries. */
  holders(): readonly { machine: string; copy: string; seq: number }[];
  /** The copies on machines that did not go, by their ids. */
  copies(): ReadonlyMap<string, Copy>;
  /** How many entries, from the first, a checkpoint covers that its key has signed. */
  signed(): number;
  /** The entries that changed the signing key. */
  rotations(): readonly Rotation[];
  /** Where the lines lie, and what they hash to: all that a proof of an entry needs, so that it does not read the ledger again. */
  lines: Pick<LineIndex, 'leaves' | 'proofs' | 'read'>;
  /** What the disk and the mirror have to be like, by the entries so far. */
  bound: BoundState;
  /**
   * The history of each request, folded from the entries as they are read at opening and appended later, so that nothing
   * else in a run reads the ledger again. It takes about 3 kB a request, so some 150 MB for a
   * million entries; entries and MACs are not kept.
   */
  histories: Pick<Histories, 'of' | 'all' | 'access'>;
};

/** The ledger, to be read and to grow. */
export type Ledger = LedgerReader & {
  /**
   * Appends records, with one flush, on disk for good when this returns. A record with a long list becomes several entries.
   * Throws, and has written nothing, when a record is none that the ledger takes, when making one throws, when the disk
   * refuses (`storage`), when the file is not as this ledger left it (`storage`), or when the key that has to sign it is not here
   * (`storage`). `at`: the time of the entries, where it is not that of the clock now.
   */
  append(records: Iterable<LedgerRecord>, at?: string): void;
  /**
   * Signs the present head, and returns it with the text of its checkpoint; one that is there already stays. Throws `storage`, also where
   * that one is not signed with the key.
   */
  checkpoint(): TreeHead & { text: string };
  /** Replaces the signing key: checkpoints of more entries than now are signed with another one. */
  rotateKey(): void;
};

/**
 * Opens the ledger of a data folder, reading all of it once. What a kill left after the last whole line is cut off. One
 * process at a time: the caller holds the lease. `outside`: the signing keys that are not in the data folder. `store`: what it has
 * more is taken first. Throws `storage` when an entry is damaged, or when the entries are not those that a checkpoint was signed for.
 */
export function openLedger(
  dataDir: string,
  clock: Clock,
  outside: readonly OutsideSigner[] = [],
  store?: EntryStore,
): Ledger {
  return ledgerOf(dataDir, { clock, outside, store }, readState(ledgerFolder(dataDir)));
}

/** Opens the ledger as `openLedger` does. Other work goes on meanwhile: one person can have a million entries of the fence. */
export async function openLedgerPausing(
  dataDir: string,
  clock: Clock,
  outside: readonly OutsideSigner[],
  signal: AbortSignal,
  store?: EntryStore,
): Promise<Ledger> {
  const pause = pausing(signal);
  const reading = readingState(ledgerFolder(dataDir));
  let read = reading.next();
  for (; read.done !== true; read = reading.next()) await pause();
  return ledgerOf(dataDir, { clock, outside, store }, read.value);
}

type LedgerTools = { clock: Clock; outside: readonly OutsideSigner[]; store: EntryStore | undefined };

function ledgerOf(dataDir: string, { clock, outside, store }: LedgerTools, state: LedgerState): Ledger {
  const folder = ledgerFolder(dataDir);
  const path = entriesPath(folder);
  if (existsSync(path)) cutTo(path, state.bytes);
  const write = (lines: Iterable<Buffer>, taken: readonly Written[]): void => {
    state.bytes = appendLines(path, lines, state.bytes);
    for (const { entry, leaf, bytes } of taken) {
      state.lines.add(leaf, bytes);
      take(state, entry, leaf);
    }
  };
  for (;;) {
    const size = state.tree.size();
    const lines = store?.read(state.tree);
    if (!lines) break;
    const taken: Written[] = [];
    write(checkedLines(lines, size, taken), taken);
    if (taken.length === 0) throw damaged(`nothing stands elsewhere in the place of entry ${size}`);
  }
  /** Whether the key was looked at: what cannot be signed is not appended. */
  let canSign = false;
  const append: Ledger['append'] = (records, at = isoTime(clock.now())) => {
    if (Array.isArray(records) && records.length === 0) return;
    if (!canSign) refuseOtherKey(dataDir, state.rotations, outside);
    canSign = true;
    const size = state.tree.size();
    const taken: Written[] = [];
    const linesOf = function* (): Generator<Buffer> {
      for (const whole of records)
        for (const record of splitRecord(whole)) {
          const seq = size + taken.length;
          const line = entryLine(record, seq, at);
          taken.push({ entry: { ...record, seq, at }, leaf: leafHash(line), bytes: line.length });
          yield line;
        }
    };
    write(store ? store.keep(state.tree, linesOf()) : linesOf(), taken);
  };
  const checkpoint: Ledger['checkpoint'] = () => {
    const { size, rootHash } = headOf(state);
    try {
      const signer = signingKey(dataDir, state.rotations, outside);
      const root = Buffer.from(rootHash, 'hex');
      const present = readCheckpointFile(folder, size);
      // An outsider keeps this text. It must not come from somebody who can write here and has no key.
      if (present !== undefined && !isSignedText(present, verifierOf(signer)))
        throw damaged(`checkpoint ${checkpointName(size)} is not signed with its key`);
      const text = present ?? checkpointText({ size, root }, signer);
      store?.keepKeys();
      createCheckpointFile(folder, size, text);
      return { size, rootHash, text };
    } catch (error) {
      throw explainStorageError(error, folder) ?? error;
    }
  };
  return {
    ...readerOf(folder, state),
    append,
    checkpoint,
    rotateKey: () => {
      // So that the old key has vouched for all that came before.
      checkpoint();
      append([prepareRotation(dataDir, signingKey(dataDir, state.rotations, outside), outside)]);
      signingKey(dataDir, state.rotations, outside);
    },
  };
}

/** The ledger of a data folder as it is now, for reading only. Throws as `openLedger` does. */
export function readLedger(dataDir: string): LedgerReader {
  const folder = ledgerFolder(dataDir);
  return readerOf(folder, readState(folder));
}

function headOf({ tree }: LedgerState): TreeHead {
  return { size: tree.size(), rootHash: tree.rootHash().toString('hex') };
}

function readerOf(folder: string, state: LedgerState): LedgerReader {
  return {
    entries: function* () {
      for (const { entry } of readLedgerLines(folder)) {
        // What another process has appended since belongs to none of the other answers.
        if (entry.seq >= state.tree.size()) return;
        yield entry;
      }
    },
    size: () => state.tree.size(),
    requestEntries: () => state.requestEntries,
    rootOfFirst: (entries) =>
      (entries === state.requestEntries ? state.requestRoot() : rootOf(state.lines.leaves(entries))).toString('hex'),
    epoch: () => state.epoch,
    head: () => headOf(state),
    publishedHeads: state.publishedHeads,
    holders: () => state.holders,
    copies: () => state.copies,
    signed: () =>
      listCheckpointSizes(folder).findLast((size) => isCheckpointSigned(folder, state.rotations, size)) ?? 0,
    rotations: () => state.rotations,
    lines: state.lines,
    histories: state.histories,
    bound: state.bound.state,
  };
}
