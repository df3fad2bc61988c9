import { openBucket } from '../bucket/bucket.ts';
import { fetchPublished } from '../bucket/fetch-published.ts';
import { destinationOf } from '../bucket/keep.ts';
import type { Settings } from '../config/settings.ts';
import { AppError } from '../core/errors.ts';
import type { RemoteState } from '../job/job-context.ts';
import type { EntryStore, Ledger } from '../ledger/ledger.ts';
import { publishedFilesIn } from '../snapshot/published-files.ts';
import type { Copies } from './copies.ts';
import { lockFolder } from './folder-lock.ts';
import type { SharedProject } from './holding-rows.ts';
import type { Holdings } from './holdings.ts';
import { deleteLocalCopy, readLocalCopy } from './local-copy.ts';
import { importProject } from './move-project.ts';
import { openProjectState, type StateSetup } from './project-state.ts';

/** What machines share: who holds a project, which of them have a copy, and the key of the states in the bucket. */
export type SharedStorage = { holdings: Holdings; copies: Copies; key: Buffer };

/** A project that this machine holds, with its state in the data folder. */
export type HeldProject = {
  token: number;
  /** Aborted once another machine may hold the project. */
  signal: AbortSignal;
  /** Throws `busy` where another machine may hold the project. */
  check: () => void;
  state: RemoteState;
  store: EntryStore;
  /** The ledger as it was opened over `store`. Throws `busy` where another machine has taken the project over. */
  checked: (ledger: Ledger) => Ledger;
  /** Whether the copy was made by this call, and so was not there before. */
  isFresh: boolean;
  /** Lets other machines take the project. The copy stays. */
  release: () => Promise<void>;
  /** Deletes the copy first. Its database must be closed, and what shall stay must have been committed. */
  giveUp: () => Promise<void>;
};

/** Takes a project for a worker or a command, and makes the data folder its newest state. Rejects as the two steps do. */
export async function holdProject(
  { holdings, copies, key }: SharedStorage,
  { project, purpose, importFrom }: { project: SharedProject; purpose: string; importFrom?: string | undefined },
  { place, settings, clock, signers }: Pick<StateSetup, 'place' | 'clock' | 'signers'> & { settings: Settings },
): Promise<HeldProject> {
  const { dataDir, retry } = settings;
  const commitMs = settings.cluster.commitMinutes * 60_000;
  const { machine } = holdings;
  const holding = await holdings.take(project, purpose);
  const { token, signal, check, noteLedgerSize } = holding;
  // What an operator moves in may be older than what the database knows.
  const ledgerSize = importFrom === undefined ? holding.ledgerSize : 0;
  const tools = { clock, retry, signal };
  const copy = { isFresh: false };
  let lock: Disposable | undefined;
  const fill: Parameters<typeof openProjectState>[1] = async (standing) => {
    copy.isFresh = true;
    if (importFrom !== undefined) return importProject(importFrom, { dataDir, clock, signal }, standing);
    const destination = destinationOf(settings.export);
    if (!destination) return;
    using bucket = await openBucket(destination, tools);
    await fetchPublished(bucket, publishedFilesIn(dataDir), signal);
  };
  try {
    lock = lockFolder(dataDir);
    await copies.note(project.id, machine);
    const setup = {
      place,
      key,
      dataDir,
      signers,
      holder: { machine, token },
      check,
      ledgerSize,
      noteLedgerSize,
      ...tools,
    };
    const state = await openProjectState(setup, fill);
    const release = async (): Promise<void> => {
      await state.close();
      lock?.[Symbol.dispose]();
      await holding.release();
    };
    if (importFrom !== undefined && !copy.isFresh)
      throw new AppError('this machine has a copy of the project already', {
        code: 'usage',
        hint: 'a state is never replaced: work with the one that is there',
      });
    return {
      token,
      signal,
      check,
      state: {
        // What a command has changed is put there at once: its copy does not stay.
        isCommitDue: () => (copy.isFresh && purpose !== 'worker') || clock.now() - state.committedMs() >= commitMs,
        commit: state.commit,
        copiesElsewhere: async () => {
          const others = (await copies.ofProject(project.id)).filter((other) => other.machine !== machine);
          const isForgotten = others.some((other) => other.isForgotten);
          return { machines: others.flatMap((other) => (other.isForgotten ? [] : [other.machine])), isForgotten };
        },
      },
      store: state.store,
      checked: state.checked,
      isFresh: copy.isFresh,
      release,
      giveUp: async () => {
        state.discard();
        await copies.forget(project.id, machine);
        await release();
      },
    };
  } catch (error) {
    if (lock) await forgetFailed(copies, project.id, { dataDir, machine }).catch(() => undefined);
    lock?.[Symbol.dispose]();
    await holding.release(true);
    throw error;
  }
}

/** Deletes a copy that was not fetched whole, so that no erasure waits for it. A whole copy is not touched. */
async function forgetFailed(
  copies: Copies,
  id: string,
  { dataDir, machine }: { dataDir: string; machine: string },
): Promise<void> {
  const note = readLocalCopy(dataDir);
  if (note?.isWhole === true) return;
  if (note) deleteLocalCopy(dataDir);
  await copies.forget(id, machine);
}
