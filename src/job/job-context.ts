import type { Service } from '../client/service.ts';
import type { Settings } from '../config/settings.ts';
import type { Clock } from '../core/clock.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Logger } from '../log/logger.ts';
import type { Tracer } from '../log/tracer.ts';
import type { Database } from '../mirror/database.ts';
import type { MirroredProject } from '../mirror/runs.ts';
import type { PublishedFiles } from '../snapshot/published-files.ts';

/** The mirror, service, ledger and the rest that a job works with. `runJob` gives each run a context of its own. */
export type JobContext = {
  /** The mirror, for writing. */
  db: Database;
  published: PublishedFiles;
  settings: Settings;
  clock: Clock;
  log: Logger;
  tracer: Tracer;
  /** Aborted when the job has to stop: by a signal, or because the lease is lost. */
  signal: AbortSignal;
  /** Whether a run waits while another one holds the data folder. Otherwise it rejects with `busy`. */
  wait?: boolean | undefined;
  /** Null where no service is configured: the job then does what it can do without it. */
  service: Service | null;
  /** Null where `service` is. */
  project: MirroredProject | null;
  /** The ledger, for writing. Call it under the lease only; the first call of a run opens it, for the whole run. */
  ledger: () => Ledger;
  /** Opens the ledger for a run while other work goes on, as its first step. Otherwise it is opened when it is asked for. */
  openLedger?: ((signal: AbortSignal) => Promise<Ledger>) | undefined;
  /** The project's state in a place that other machines reach, where there is one. */
  remote?: RemoteState | undefined;
  /** Of a run under way: the data folder, left to others for a while. */
  turn?: Turn | undefined;
};

/** The turn of a run that can stop between two steps and go on later. */
type Turn = {
  /** Whether a job waits that passes leave the data folder to. Costs next to nothing. */
  isWanted: () => boolean;
  /**
   * Leaves the data folder to those who wait, and resolves once it is this run's again. Others have written meanwhile: nothing
   * that was read before may be used, and the folder is to be held against the ledger again. Rejects with the signal's reason.
   */
  giveWay: () => Promise<void>;
};

/** A part of the work, until it ends or gives way. */
export type Part = {
  /** Aborted when the run has to stop or to give way. What was done stays, and the next part takes it up. */
  signal: AbortSignal;
  /** Is to be called after each step, when the mirror holds all of it. */
  onStep: () => void;
  /** Since when the work has stood still; undefined in the first part. */
  stoodStillSinceMs: number | undefined;
};

/** Does work that can be stopped and taken up again, a part at a time: others who wait have their turn in between. */
export type InTurns = <T>(work: (part: Part) => Promise<T>) => Promise<T>;

/** The state of a project in a place that other machines reach, which this machine holds for them. Call it under the lease only. */
export type RemoteState = {
  /** Whether what a job has changed is to be put there at once: the last commit was long ago, or the copy does not stay. */
  isCommitDue: (db: Database) => boolean;
  /**
   * Puts the mirror and the files beside it there, and removes every older version. Returns how many, and the
   * locks of those that stay. Nothing else may write to the data folder meanwhile. Throws `busy` where another machine has put its
   * own since.
   */
  commit: (db: Database) => Promise<{ removed: number; locked: { until: string | null; putAt: string }[] }>;
  /**
   * The other machines that have a copy, as far as the ledger knows; what they have said of it since is appended first. `isForgotten`:
   * whether an operator said of one that its disk is gone.
   */
  copiesElsewhere: (ledger: Ledger) => Promise<{ machines: string[]; isForgotten: boolean }>;
};

/** The context of a job that cannot work without the service. */
export type ServiceContext = JobContext & { service: Service; project: MirroredProject };

/** Is called with the rows that a job has taken of a dataset, and their `total`, which is null where it is unknown. */
export type OnProgress<Dataset extends string = string> = (
  dataset: Dataset,
  done: number,
  total: number | null,
) => void;
