import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { openBucket, type ObjectVersion } from '../bucket/bucket.ts';
import { sha256 } from '../core/digest.ts';
import type { LedgerReader } from '../ledger/ledger.ts';
import type { LedgerRecord } from '../ledger/record.ts';
import { draftFile, type StatePlace } from './entry-store.ts';
import { deleteLocalCopy, forgetLocalCopy, noteLocalCopy, readLocalCopy } from './local-copy.ts';

/** A copy of a project's state, by its id, and the machine that has it. */
export type Copy = { id: string; machine: string };

/** What a machine says of a copy: that it is about to make it, or has deleted it. */
type Said = Copy & { what: 'begun' | 'over' };

/**
 * What machines say of their copies, in the bucket: only the holder can write to the ledger. What they say is marked with the cluster's
 * key; the holder takes it into the ledger, and removes it here.
 */
export type SaidCopies = {
  /** Says that a copy is about to be made, before its first byte, or that it is deleted. */
  say: (copy: Copy, what: Said['what']) => Promise<void>;
  /** Reads what is said under the cluster's key, and how to remove it. */
  read: () => Promise<{ said: Said[]; remove: () => Promise<void> }>;
  [Symbol.dispose]: () => void;
};

const markBytes = 64;
const pathPattern = /^([0-9a-f]{32})\.([a-z0-9][a-z0-9.-]{0,62})\.(begun|over)$/;

/** Opens what machines say of the copies of one project. */
export async function openSaidCopies(
  { place, key, dataDir }: Pick<StatePlace, 'place' | 'key' | 'dataDir'>,
  tools: Parameters<typeof openBucket>[1],
): Promise<SaidCopies> {
  const bucket = await openBucket({ ...place, location: `${place.location}/copies` }, tools);
  const own = Buffer.from(hkdfSync('sha256', key, '', 'analytics-mirror cluster copies', 32));
  const markOf = (path: string): string => createHmac('sha256', own).update(`${place.location}\n${path}`).digest('hex');
  const isGenuine = async (path: string): Promise<boolean> => {
    using to = draftFile(dataDir);
    return (
      (await bucket.fetch(path, to.path, markBytes)) !== undefined && readFileSync(to.path, 'utf8') === markOf(path)
    );
  };
  const saidAt = async ({ path, bytes, isLatest, isMarker }: ObjectVersion): Promise<Said[]> => {
    const [, id = '', machine = '', what] = pathPattern.exec(path) ?? [];
    if (!isLatest || isMarker || what === undefined || bytes !== markBytes || !(await isGenuine(path))) return [];
    return [{ id, machine, what: what === 'over' ? what : 'begun' }];
  };
  return {
    say: async ({ id, machine }, what) => {
      const path = `${id}.${machine}.${what}`;
      const mark = markOf(path);
      using from = draftFile(dataDir);
      writeFileSync(from.path, mark, { mode: 0o600 });
      // What stands there already was said before.
      await bucket.put({ path, from: from.path, bytes: mark.length, sha256: sha256(mark), over: null }, machine);
    },
    read: async () => {
      const versions = await bucket.listVersions();
      const said: Said[] = [];
      for (const version of versions) said.push(...(await saidAt(version)));
      const remove = async (): Promise<void> => {
        for (const version of versions) await bucket.removeVersion(version);
      };
      return { said, remove };
    },
    [Symbol.dispose]: () => bucket[Symbol.dispose](),
  };
}

/** What the ledger has to say besides: of copies that were begun or are deleted, and of those that an operator has forgotten. */
export function copyRecords(
  known: ReturnType<LedgerReader['copies']>,
  said: readonly Said[],
  forgotten: readonly string[] = [],
): LedgerRecord[] {
  const over = new Set(said.flatMap(({ id, what }) => (what === 'over' ? [id] : [])));
  const begun = said.filter(({ id, what }) => what === 'begun' && !over.has(id) && !known.has(id));
  const lost = forgotten.filter((id) => known.get(id)?.isForgotten === false && !over.has(id));
  return [
    ...begun.map(({ id, machine }) => ({ type: 'copy_made' as const, machine, copy: id })),
    ...[...over].filter((id) => known.has(id)).map((copy) => ({ type: 'copy_gone' as const, copy })),
    ...lost.map((copy) => ({ type: 'copy_forgotten' as const, copy })),
  ];
}

/** Notes in a data folder that it is about to be a copy, which has not been there before. */
export function beginLocalCopy({ place, dataDir, holder }: Pick<StatePlace, 'place' | 'dataDir' | 'holder'>): Copy {
  const copy = { id: randomBytes(16).toString('hex'), machine: holder.machine };
  const note = { location: place.location, machine: copy.machine, copy: copy.id, isWhole: false };
  noteLocalCopy(dataDir, { ...note, commits: [], committedAt: null, change: 0, keys: null });
  return copy;
}

/** Deletes the copy in a data folder, if there is one, and says so. What cannot be said stays noted, for the next call. */
export async function endLocalCopy(dataDir: string, { say }: Pick<SaidCopies, 'say'>): Promise<void> {
  const note = readLocalCopy(dataDir);
  if (!note) return;
  deleteLocalCopy(dataDir, note);
  await say({ id: note.copy, machine: note.machine }, 'over');
  forgetLocalCopy(dataDir);
}
