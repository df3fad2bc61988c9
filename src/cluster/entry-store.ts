import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bucket, Destination } from '../bucket/bucket.ts';
import { inBatches } from '../core/batches.ts';
import { measureFileNow, sha256 } from '../core/digest.ts';
import { AppError } from '../core/errors.ts';
import { makeFolder, temporaryFolder } from '../core/folder.ts';
import { writeLines } from '../ledger/entry-file.ts';
import type { EntriesBefore, EntryStore, LedgerReader } from '../ledger/ledger.ts';
import { damaged } from '../ledger/ledger-state.ts';
import { compactTree, leafHash } from '../ledger/merkle.ts';
import { archiveHead, listBelow, type ArchivedFile } from './archive.ts';
import { noteLocalCopy, readLocalCopy } from './local-copy.ts';
import { genuineLines, markedLines, type AppendPlace } from './marked-lines.ts';
import { sealBytes } from './sealed-file.ts';
import type { WaitingStore } from './waiting-store.ts';
import { openFile } from '../core/open-file.ts';

/** Where the state of a project stands and is copied to, with which key, and which machine holds it. */
export type StatePlace = {
  place: Destination;
  key: Buffer;
  dataDir: string;
  holder: { machine: string; token: number };
  /** Throws `busy` once the project is lost. */
  check: () => void;
  /** Hears that the bucket says so: then the project is lost, whatever the database says. */
  lose: () => void;
};

/** The object of the keys, beside that of the state. */
export const keysFile = 'keys';

/** What other files cannot be made again without: they are in the bucket before anything is signed or encrypted with them. */
const keyFiles = ['restore.key', 'keys', 'ledger/public-keys.txt'];

/** The entries of a ledger in the bucket. */
export type StateEntries = EntryStore & {
  /**
   * Fetches the appends behind the first `size` entries, several at a time and while other work goes on. A ledger reads them one by
   * one, and all else stands still for those that are not there yet.
   */
  fetchAhead: (bucket: Bucket, size: number, signal: AbortSignal) => Promise<void>;
  /** Whether all that stands there is in a ledger, too. */
  isPartOf: (ledger: LedgerReader) => boolean;
};

const pathsAtOnce = 1_000;
const fetchesAtOnce = 8;
/** No more is fetched ahead: what is larger or comes later, a ledger reads by itself. */
const aheadMax = { appends: 2_000, bytes: 1 << 30, bytesOfOne: 64 << 20 };

/**
 * The entries of the ledger in the bucket: each append is one object, named by its first number and marked with the cluster's key,
 * which is put where nothing stands. So of two machines that append after the same entry, one is refused. Where the end of a put
 * stays unclear, nothing more is appended: the next opening of the ledger takes what stands.
 */
export function entryStore(parts: StatePlace & { waiting: WaitingStore }): StateEntries {
  const { dataDir, holder, check, waiting } = parts;
  /** By its path: where an append is that was fetched ahead. */
  const ahead = new Map<string, string>();
  const placeBehind = (before: EntriesBefore): AppendPlace => {
    return { location: parts.place.location, seq: before.size(), rootBefore: before.rootHash() };
  };
  const keepKeys = (): void => {
    const files = listBelow(dataDir, keyFiles);
    const content = packNow(files);
    const digest = sha256(content);
    const note = readLocalCopy(dataDir);
    if (!note || note.keys?.digest === digest) return;
    check();
    const path = `state/${keysFile}`;
    const standing = waiting.describe(path);
    if (standing && standing.publisher !== note.keys?.id && !isOwn(holder, standing.publisher)) throw stale(parts);
    const sealed = sealBytes(content, { key: parts.key, about: `${parts.place.location} ${keysFile}` });
    const id = putId(holder);
    using from = draftFile(dataDir);
    writeFileSync(from.path, sealed, { mode: 0o600 });
    const sent = { bytes: sealed.length, sha256: sha256(sealed) };
    const put = { path, from: from.path, ...sent, over: standing?.etag ?? null };
    if (!waiting.put(put, id) && waiting.describe(path)?.publisher !== id) throw stale(parts);
    noteLocalCopy(dataDir, { ...note, keys: { digest, id } });
  };
  return {
    keepKeys,
    keep: (before, lines) => {
      keepKeys();
      check();
      const kept = draftPath(dataDir);
      const place = placeBehind(before);
      try {
        writeDraft(kept, markedLines(lines, parts.key, place));
        const put = { path: nameOf(place.seq), from: kept, ...measureFileNow(kept), over: null };
        const id = putId(holder);
        if (!waiting.put(put, id)) {
          const { publisher = null } = waiting.describe(put.path) ?? {};
          // After an answer that was lost, a second attempt finds the first one's object.
          if (publisher !== id) throw isOwn(holder, publisher) ? late() : stale(parts);
        }
        return linesOnce(kept, parts.key, place);
      } catch (error) {
        rmSync(kept, { force: true });
        throw error;
      }
    },
    fetchAhead: async (bucket, size, signal) => {
      let [appends, bytes] = [0, 0];
      const isFull = (): boolean => appends >= aheadMax.appends || bytes >= aheadMax.bytes;
      for (let after = size === 0 ? 'ledger/' : nameOf(size - 1); !isFull();) {
        const paths = await bucket.pathsAfter(after, pathsAtOnce);
        await inBatches(paths, { atOnce: fetchesAtOnce, signal }, async (path) => {
          if (isFull()) return;
          appends += 1;
          const to = draftPath(dataDir);
          const fetched = await bucket.fetch(path, to, aheadMax.bytesOfOne).catch(unlessLarge);
          if (!fetched) return;
          ahead.set(path, to);
          bytes += fetched.bytes;
        });
        const last = paths.at(-1);
        if (last === undefined) return;
        after = last;
      }
    },
    isPartOf: (ledger) => {
      let [last, seq] = ['ledger/', NaN];
      for (;;) {
        const next = waiting.pathsAfter(last, pathsAtOnce).at(-1);
        if (next === undefined) break;
        seq = Number(/^ledger\/(\d{1,15})\.jsonl$/.exec(next)?.[1]);
        if (!(seq < ledger.size())) return false;
        last = next;
      }
      if (Number.isNaN(seq)) return false;
      const before = compactTree();
      for (const leaf of ledger.lines.leaves(seq)) before.append(leaf);
      const kept = draftPath(dataDir);
      if (!waiting.fetch(last, kept)) return false;
      // Its mark is over all entries before it, too.
      const own = ledger.lines.leaves(ledger.size()).slice(seq);
      const stands = genuineOnce(kept, parts.key, placeBehind(before));
      return stands?.every((line, at) => own[at]?.equals(leafHash(line)) === true) === true;
    },
    read: (before) => {
      check();
      const place = placeBehind(before);
      const path = nameOf(place.seq);
      const fetched = ahead.get(path) ?? draftPath(dataDir);
      if (ahead.delete(path) || waiting.fetch(path, fetched)) return linesOnce(fetched, parts.key, place);
      rmSync(fetched, { force: true });
      if (waiting.pathsAfter(path, 1).length > 0)
        throw damaged(`entry ${place.seq} is not in the bucket, and later ones are`);
      return undefined;
    },
  };
}

/** Whether a machine of this cluster has appended behind these entries, and no others. */
export async function hasAppend(
  bucket: Bucket,
  { place, key, dataDir }: Pick<StatePlace, 'place' | 'key' | 'dataDir'>,
  behind: EntriesBefore,
): Promise<boolean> {
  const kept = draftPath(dataDir);
  const at = { location: place.location, seq: behind.size(), rootBefore: behind.rootHash() };
  return (await bucket.fetch(nameOf(at.seq), kept)) !== undefined && genuineOnce(kept, key, at) !== undefined;
}

/** The lines of a fetched append; undefined where it is of somebody else, or behind other entries. */
function genuineOnce(path: string, key: Buffer, place: AppendPlace): Buffer[] | undefined {
  try {
    return [...linesOnce(path, key, place)];
  } catch (error) {
    if (error instanceof AppError && error.finding === 'foreign_entries') return undefined;
    throw error;
  }
}

/** Where an append stands, whose first entry has this number. */
function nameOf(seq: number): string {
  return `ledger/${String(seq).padStart(12, '0')}.jsonl`;
}

function unlessLarge(error: unknown): undefined {
  if (!(error instanceof AppError) || error.code !== 'oversize') throw error;
}

/** The error of a machine that another one has overtaken. Its copy is deleted when it is opened next. */
export function stale({ dataDir, place, lose }: Pick<StatePlace, 'dataDir' | 'place' | 'lose'>): AppError {
  lose();
  const note = readLocalCopy(dataDir);
  if (note?.isWhole === true) noteLocalCopy(dataDir, { ...note, isWhole: false });
  return new AppError(`another machine has taken over ${place.location}`, {
    code: 'busy',
    hint: 'the next command starts from what the bucket has; `analytics-mirror cluster` says which machine holds the project',
    finding: 'taken_over',
  });
}

/** An entry of an append that seemed to have failed has arrived since. */
function late(): AppError {
  return new AppError('an earlier entry of the ledger has reached the bucket late', {
    code: 'unreachable',
    hint: 'run the command again: it goes on behind that entry',
    retryable: true,
  });
}

/** A name for a put of this machine, by which it knows its own object again. */
export function putId({ machine }: StatePlace['holder']): string {
  return `${machine}/${randomUUID()}`;
}

function isOwn({ machine }: StatePlace['holder'], publisher: string | null): boolean {
  return publisher?.startsWith(`${machine}/`) === true;
}

function writeDraft(path: string, lines: Iterable<Buffer>): void {
  using file = openFile(path, 'wx', 0o600);
  writeLines(file.descriptor, lines);
}

function* linesOnce(path: string, key: Buffer, place: AppendPlace): Generator<Buffer> {
  try {
    yield* genuineLines(path, key, place);
  } finally {
    rmSync(path, { force: true });
  }
}

/** A path of its own for a file that is about to be put, or was fetched. */
export function draftPath(dataDir: string): string {
  makeFolder(temporaryFolder(dataDir));
  return join(temporaryFolder(dataDir), `state-${randomUUID()}`);
}

/** Such a path for the block that holds it with `using`: the file is removed at its end. */
export function draftFile(dataDir: string): Disposable & { path: string } {
  const path = draftPath(dataDir);
  return { path, [Symbol.dispose]: () => rmSync(path, { force: true }) };
}

/** The same bytes as those of `packFiles`, of few small files. */
function packNow(files: readonly ArchivedFile[]): Buffer {
  const read = files.map(({ path, from }) => ({ path, content: readFileSync(from) }));
  const head = archiveHead(read.map(({ path, content }) => ({ path, bytes: content.length })));
  return Buffer.concat([head, ...read.map(({ content }) => content)]);
}
