import { rmSync } from 'node:fs';
import { openBucket, type Bucket, type ObjectVersion } from '../bucket/bucket.ts';
import type { Settings } from '../config/settings.ts';
import { isoTime, type Clock } from '../core/clock.ts';
import { measureFile } from '../core/digest.ts';
import { AppError, usageError } from '../core/errors.ts';
import type { RemoteState } from '../job/job-context.ts';
import { ledgerFolder } from '../ledger/entry-file.ts';
import { readLedgerHead } from '../ledger/ledger-head.ts';
import { openLedger, type EntryStore, type Ledger } from '../ledger/ledger.ts';
import { newestNumber } from '../mirror/feeds.ts';
import { copyInto } from '../mirror/run-query.ts';
import type { OutsideSigner } from '../ledger/outside-signer.ts';
import { openDatabase, type Database } from '../mirror/database.ts';
import { leaveQueue, readQueue, readLease, removeLease } from '../mirror/lease-rows.ts';
import { archived, listBelow, packFiles, unpackFiles } from './archive.ts';
import { refuseCareless } from './careless-store.ts';
import { beginLocalCopy, copyRecords, endLocalCopy, openSaidCopies, type Copy } from './copies.ts';
import {
  draftFile,
  draftPath,
  entryStore,
  keysFile,
  putId,
  stale,
  type StateEntries,
  type StatePlace,
} from './entry-store.ts';
import { holdsProject, localCopyOf, noteLocalCopy, readLocalCopy } from './local-copy.ts';
import { isOlderBucket, refuseForgetful, refuseOlder } from './older-bucket.ts';
import { openSealed, sealFile } from './sealed-file.ts';
import { waitingStore } from './waiting-store.ts';

/** How the state of a project is opened. `signal`: aborted with `busy` once the project is lost. */
export type StateSetup = StatePlace & {
  /** How many entries the ledger has at least: what the database knows, and how it learns of more. */
  ledgerSize: number;
  noteLedgerSize: (size: number) => Promise<void>;
  clock: Clock;
  retry: Settings['retry'];
  signal: AbortSignal;
  /** The signing keys that are not in the data folder. */
  signers: () => OutsideSigner[];
};

type Committed = Awaited<ReturnType<RemoteState['commit']>>;

/** The state of a project that this machine holds: a copy in the data folder, and the bucket that it is a copy of. */
export type ProjectState = Pick<RemoteState, 'commit'> & {
  /** When the state was put into the bucket last, in milliseconds since 1970. */
  committedMs: () => number;
  /** Whether the state in the bucket has every change of the lists. */
  isCommitted: (db: Database) => boolean;
  /** Opens the ledger so that each entry is in the bucket first. Throws `busy` where another machine holds the project. */
  checked: (ledger: Ledger) => Ledger;
  store: EntryStore;
  /** Deletes the copy, and says so. Its database must be closed; what was not committed is lost. */
  discard: () => Promise<void>;
  /** The copies that the ledger knows of, beside this one. What is said of copies is appended first, and which are `forgotten`. */
  otherCopies: (ledger: Ledger, forgotten?: readonly string[]) => Promise<OtherCopy[]>;
  /** Those that it knew of when the state was opened. */
  others: OtherCopy[];
  close: () => Promise<void>;
};

/** A copy that another machine has, or had on a disk that an operator has forgotten. */
type OtherCopy = Copy & { isForgotten: boolean };

const stateFile = 'project';
const keysBytesMax = 16 << 20;

/**
 * Opens the state of a project, which the caller holds: a copy that no other machine has overtaken is used as it is; otherwise the
 * copy is made again, and this holder claims the state, so that no earlier one can write any more. `fill` fetches what else the data folder
 * needs, or all of it where no state stands. Throws `usage` for another key and for a data folder that is no copy, `busy` where another
 * machine was faster, and what the bucket throws.
 */
export async function openProjectState(
  setup: StateSetup,
  fill: (standing: { isNew: boolean; store: EntryStore }) => Promise<void> = () => Promise.resolve(),
): Promise<ProjectState> {
  const { place, dataDir, holder, clock, retry, signal, signers } = setup;
  const bucket = await openBucket({ ...place, location: `${place.location}/state` }, { clock, retry, signal });
  const waiting = waitingStore(place);
  const store = entryStore({ ...setup, waiting });
  const copies = await openSaidCopies(setup, { clock, retry, signal });
  const state: ProjectState = {
    checked: (ledger) => {
      if (ledger.holders().at(-1)?.copy !== localCopyOf(dataDir).copy) throw stale(setup);
      return ledger;
    },
    store,
    committedMs: () => Date.parse(readLocalCopy(dataDir)?.committedAt ?? isoTime(0)),
    isCommitted: (db) => readLocalCopy(dataDir)?.change === newestNumber(db),
    commit: (db) => commitState(setup, { bucket, store }, db),
    discard: () => endLocalCopy(dataDir, copies),
    otherCopies: async (ledger, forgotten = []) => {
      const { said, remove } = await copies.read();
      ledger.append(copyRecords(ledger.copies(), said, forgotten));
      await remove();
      return othersOf(ledger, dataDir);
    },
    others: [],
    close: async () => {
      copies[Symbol.dispose]();
      bucket[Symbol.dispose]();
      await waiting.close();
    },
  };
  try {
    const current = await openCurrent(setup, { bucket, store });
    if (current) return { ...state, others: othersOf(current, dataDir) };
    await endLocalCopy(dataDir, copies);
    await refuseCareless(bucket, dataDir);
    const own = beginLocalCopy(setup);
    await copies.say(own, 'begun');
    const found = await fetchState(setup, bucket);
    using whole = await openBucket(place, { clock, retry, signal });
    const committed = entriesIn(dataDir);
    refuseOlder(setup, committed);
    await store.fetchAhead(whole, committed, signal);
    const open = (): Ledger => openLedger(dataDir, clock, signers(), store);
    // Refused before the published files are fetched.
    const fetched = found.length > 0 ? open() : undefined;
    await fill({ isNew: found.length === 0, store });
    const ledger = fetched ?? open();
    ledger.append([{ type: 'taken_over', ...holder, copy: own.id }]);
    const others = await state.otherCopies(ledger);
    // A holder that was killed may have left entries that nothing vouches for.
    ledger.checkpoint();
    noteLocalCopy(dataDir, { ...localCopyOf(dataDir), isWhole: true, commits: found });
    using db = openDatabase(dataDir, clock);
    await state.commit(db);
    return { ...state, others };
  } catch (error) {
    await state.close();
    throw error;
  }
}

/** The ledger of the data folder, where that is the newest copy of the state. Throws `usage` for one that is no copy of it. */
async function openCurrent(setup: StateSetup, { bucket, store }: Parts): Promise<Ledger | undefined> {
  const { place, dataDir, holder, clock } = setup;
  const copy = readLocalCopy(dataDir);
  if (!copy) {
    if (!holdsProject(dataDir)) return undefined;
    throw usageError(
      `the data folder ${dataDir} holds a project that is not in cluster.storage`,
      'move it there with `analytics-mirror cluster import`, or set another dataDir',
    );
  }
  if (copy.location !== place.location)
    throw usageError(
      `the data folder ${dataDir} is a copy of ${copy.location}, not of ${place.location}`,
      'set another dataDir, or delete the folder',
    );
  if (!copy.isWhole) return undefined;
  const standing = await bucket.describe(stateFile);
  if (copy.machine !== holder.machine) {
    // It is made anew under the new name, unless it may have what is newest: the first commit is all of it.
    if (copy.commits[0] !== standing?.publisher) await refuseForgetful(setup, setup);
    return undefined;
  }
  // A bucket that has lost the state gets it back from here. It may be in another store now.
  if (!standing) await refuseCareless(bucket, dataDir);
  else if (
    !copy.commits.includes(standing.publisher ?? '') &&
    !(await isOlderBucket(setup, { bucket, store }, standing.publisher ?? ''))
  ) {
    await refuseForgetful(setup, setup);
    return undefined;
  }
  const ledger = openLedger(dataDir, clock, [], store);
  if (ledger.holders().at(-1)?.copy !== copy.copy) return undefined;
  refuseOlder(setup, ledger.size());
  return ledger;
}

type Parts = { bucket: Bucket; store: StateEntries };

function othersOf(ledger: Ledger, dataDir: string): OtherCopy[] {
  const { copy } = localCopyOf(dataDir);
  return [...ledger.copies()].flatMap(([id, known]) => (id === copy ? [] : [{ id, ...known }]));
}

/** Fetches mirror, ledger, keys and reports as they were committed last, then newer keys. Returns the commit; none where none was. */
async function fetchState({ place, key, dataDir, clock }: StateSetup, bucket: Bucket): Promise<string[]> {
  const { location } = place;
  const commits: string[] = [];
  for (const path of [stateFile, keysFile]) {
    using from = draftFile(dataDir);
    using clear = draftFile(dataDir);
    const fetched = await bucket.fetch(path, from.path, path === keysFile ? keysBytesMax : undefined);
    if (!fetched) continue;
    const seal = { key, about: `${location} ${path}` };
    await openSealed({ from: from.path, clear: clear.path }, seal, (content) => unpackFiles(content, dataDir));
    if (path === stateFile) commits.push(fetched.publisher ?? '');
    else noteLocalCopy(dataDir, { ...localCopyOf(dataDir), keys: { digest: '', id: fetched.publisher ?? '' } });
  }
  if (commits.length > 0) endLease(dataDir, clock);
  return commits;
}

/** Ends the lease of the run that was under way when a mirror was copied, and takes away who waited for it. */
export function endLease(dataDir: string, clock: Clock): void {
  using db = openDatabase(dataDir, clock);
  const held = readLease(db);
  if (held) removeLease(db, held.holder);
  leaveQueue(
    db,
    readQueue(db).map(({ holder }) => holder),
  );
}

/** How many entries the ledger of a data folder has, and names whole. */
function entriesIn(dataDir: string): number {
  return readLedgerHead(ledgerFolder(dataDir))?.entries ?? 0;
}

async function commitState(setup: StateSetup, { bucket, store }: Parts, db: Database): Promise<Committed> {
  const { place, key, dataDir, holder, clock, signal, check } = setup;
  store.keepKeys();
  const [mirror, sealed] = [draftPath(dataDir), draftPath(dataDir)];
  const id = putId(holder);
  try {
    const change = newestNumber(db);
    await copyInto(db, mirror, signal);
    // Those that come while it is put there are not in it.
    const entries = entriesIn(dataDir);
    const files = [{ path: 'mirror.db', from: mirror }, ...listBelow(dataDir, archived)];
    await sealFile(packFiles(files), sealed, { key, about: `${place.location} ${stateFile}` });
    const standing = await bucket.describe(stateFile);
    // A bucket that has lost the state, or has an older one, gets it back, but from no copy that was fetched before another commit.
    const { commits, committedAt: committedLast } = localCopyOf(dataDir);
    if (standing && !commits.includes(standing.publisher ?? '')) {
      if (committedLast === null || !(await isOlderBucket(setup, { bucket, store }, standing.publisher ?? '')))
        throw stale(setup);
      store.keepKeys();
    }
    const note = localCopyOf(dataDir);
    noteLocalCopy(dataDir, { ...note, commits: [...note.commits, id] });
    const measured = await measureFile(sealed);
    check();
    const put = { path: stateFile, from: sealed, ...measured, over: standing?.etag ?? null };
    if (!(await bucket.put(put, id)) && (await bucket.describe(stateFile))?.publisher !== id) throw stale(setup);
    // The checksum that a store names does not prove its bytes.
    if ((await bucket.read(stateFile, measured.bytes)).sha256 !== measured.sha256)
      throw new AppError(`${bucket.location} holds other bytes than were put there`, {
        code: 'service',
        hint: 'see who else writes there, and what the store does with what it takes',
      });
    const committedAt = isoTime(clock.now());
    noteLocalCopy(dataDir, { ...localCopyOf(dataDir), commits: [id], committedAt, change });
    // The state is in the bucket even where this fails. The next commit notes the size too.
    await setup.noteLedgerSize(entries).catch(() => undefined);
  } finally {
    for (const draft of [mirror, sealed]) rmSync(draft, { force: true });
  }
  return await removeOlder(bucket, id);
}

/** Removes for good what stands beside the newest state, which was put as `id`, and keys. Returns what a last listing has shown. */
async function removeOlder(bucket: Bucket, id: string): Promise<Committed> {
  const newest = await bucket.describe(stateFile);
  const tag = newest?.publisher === id ? plainTag(newest.etag) : undefined;
  const list = async (): Promise<{ older: ObjectVersion[]; isNew: boolean }> => {
    const versions = await bucket.listVersions();
    return {
      older: versions.filter(
        ({ path, isLatest, isMarker }) => isMarker || !isLatest || ![stateFile, keysFile].includes(path),
      ),
      // A list of an earlier moment shows as the newest what the new state has replaced, and nothing to remove.
      isNew: versions.some(({ path, isLatest, etag }) => path === stateFile && isLatest && plainTag(etag) === tag),
    };
  };
  const locks = new Map<string | undefined, Committed['locked'][number]>();
  let removed = 0;
  for (const version of (await list()).older) {
    const lock = await bucket.removeVersion(version);
    if (lock) locks.set(version.versionId, { ...lock, putAt: version.putAt });
    else removed += 1;
  }
  for (const upload of await bucket.listUploads()) await bucket.abortUpload(upload);
  const { older, isNew } = await list();
  if (isNew && older.every(({ versionId }) => locks.has(versionId))) return { removed, locked: [...locks.values()] };
  throw new AppError(`${bucket.location} does not list the new state alone`, {
    code: 'service',
    hint: 'see who else writes there; the next commit tries again',
    retryable: true,
  });
}

/** A tag as stores give it, of which some leave out its quotes in lists. */
function plainTag(etag: string): string {
  return etag.replaceAll('"', '');
}
