import { openBucket } from '../bucket/bucket.ts';
import { fetchPublished } from '../bucket/follow.ts';
import { destinationOf } from '../bucket/keep.ts';
import type { Settings } from '../config/settings.ts';
import { usageError } from '../core/errors.ts';
import type { RemoteState } from '../job/job-context.ts';
import type { EntryStore, Ledger } from '../ledger/ledger.ts';
import { publishedFilesIn } from '../snapshot/published-files.ts';
import type { ClusterDatabase } from './cluster-database.ts';
import { endLocalCopy, openSaidCopies } from './copies.ts';
import { forgottenCopies, tellCopies } from './copy-rows.ts';
import { lockFolder, readLocalCopy } from './local-copy.ts';
import type { SharedProject } from './holding-rows.ts';
import type { Holdings } from './holdings.ts';
import { importProject, refuseHalfMoved } from './move-project.ts';
import { refuseForgetful } from './older-bucket.ts';
import { openProjectState, type StateSetup } from './project-state.ts';
import { refuseNamesake } from './roster.ts';

/** What machines share: who holds a project, the database that says so, and the key of the states in the bucket. */
export type SharedStorage = { holdings: Holdings; database: ClusterDatabase; key: Buffer };

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

/** A state in which nothing has changed but runs and passes is put there so often. */
const idleMs = 24 * 3_600_000;

/** Takes a project for a worker or a command, and makes the data folder its newest state. Rejects as the two steps do. */
export async function holdProject(
  { holdings, database, key }: SharedStorage,
  { project, purpose, importFrom }: { project: SharedProject; purpose: string; importFrom?: string | undefined },
  { place, settings, clock, signers }: Pick<StateSetup, 'place' | 'clock' | 'signers'> & { settings: Settings },
): Promise<HeldProject> {
  const { dataDir, retry } = settings;
  const commitMs = settings.cluster.commitMinutes * 60_000;
  const { machine } = holdings;
  const holding = await holdings.take(project, purpose);
  const { token, signal, check, lose, noteLedgerSize } = holding;
  // What an operator moves in may be older than what the database knows.
  const ledgerSize = importFrom === undefined ? holding.ledgerSize : 0;
  const tools = { clock, retry, signal };
  const copy = { isFresh: false };
  let lock: Disposable | undefined;
  const fill: Parameters<typeof openProjectState>[1] = async (standing) => {
    copy.isFresh = true;
    if (importFrom !== undefined) return importProject(importFrom, { dataDir, clock, signal }, standing);
    if (standing.isNew) {
      refuseHalfMoved(standing.store);
      await refuseNamesake(database, project);
    }
    const destination = destinationOf(settings.export);
    if (!destination) return;
    using bucket = await openBucket(destination, tools);
    await fetchPublished(bucket, publishedFilesIn(dataDir), signal);
  };
  try {
    lock = lockFolder(dataDir);
    const setup = {
      place,
      key,
      dataDir,
      signers,
      holder: { machine, token },
      check,
      lose,
      ledgerSize,
      noteLedgerSize,
      ...tools,
    };
    const state = await openProjectState(setup, fill);
    await tellCopies(database, project.id, state.others);
    const release = async (): Promise<void> => {
      await state.close();
      lock?.[Symbol.dispose]();
      await holding.release();
    };
    if (importFrom !== undefined && !copy.isFresh)
      throw usageError(
        'this machine has a copy of the project already',
        'a state is never replaced: work with the one that is there',
      );
    return {
      token,
      signal,
      check,
      state: {
        // What a command has changed is put there at once: its copy does not stay.
        isCommitDue: (db) => {
          const agoMs = clock.now() - state.committedMs();
          const isOld = agoMs >= commitMs && (agoMs >= idleMs || !state.isCommitted(db));
          return isOld || (copy.isFresh && purpose !== 'worker');
        },
        commit: state.commit,
        copiesElsewhere: async (ledger) => {
          const others = await state.otherCopies(ledger, await forgottenCopies(database, project.id));
          await tellCopies(database, project.id, others);
          const isForgotten = others.some((other) => other.isForgotten);
          return { machines: others.flatMap((other) => (other.isForgotten ? [] : [other.machine])), isForgotten };
        },
      },
      store: state.store,
      checked: state.checked,
      isFresh: copy.isFresh,
      release,
      giveUp: async () => {
        // Where it cannot be said, the note says it at the next start.
        await state.discard().catch(() => undefined);
        await release();
      },
    };
  } catch (error) {
    if (lock && readLocalCopy(dataDir)?.isWhole === false)
      await endCopyIn({ place, key, dataDir }, { clock, retry }).catch(() => undefined);
    lock?.[Symbol.dispose]();
    await holding.release(true);
    throw error;
  }
}

/** Deletes the copy in a data folder whose project another machine has taken over, and says so. Throws where only the copy has what is newest. */
export async function endOvertaken(
  of: Parameters<typeof openSaidCopies>[0],
  tools: Pick<StateSetup, 'clock' | 'retry'>,
): Promise<void> {
  await refuseForgetful(of, { ...tools, signal: new AbortController().signal });
  await endCopyIn(of, tools);
}

/** Deletes the copy in a data folder whose project is not held here, if there is one, and says so. */
async function endCopyIn(
  of: Parameters<typeof openSaidCopies>[0],
  tools: Pick<StateSetup, 'clock' | 'retry'>,
): Promise<void> {
  using said = await openSaidCopies(of, { ...tools, signal: new AbortController().signal });
  await endLocalCopy(of.dataDir, said);
}
