import type { Service } from '../client/service.ts';
import type { Settings } from '../config/settings.ts';
import type { Clock } from '../core/clock.ts';
import type { ErasureParts } from '../erasure/request/request-record.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Logger } from '../log/logger.ts';
import type { Tracer } from '../log/tracer.ts';
import type { Database } from '../mirror/database.ts';
import type { MirroredProject } from '../mirror/mirrored-project.ts';

/** What every job needs. */
export type JobSurroundings = {
  db: Database;
  settings: Settings;
  clock: Clock;
  log: Logger;
  /** Hears of the run, and of what it asks of the service. */
  tracer?: Tracer;
  signal: AbortSignal;
};

/** What a job needs that erases people, or writes into the ledger. Opened under the lease. */
export type ErasureJobSurroundings = JobSurroundings &
  Pick<ErasureParts, 'scan'> & {
    openLedger: () => Ledger;
    /** Null where no service is configured. */
    service: Service | null;
    project: MirroredProject | null;
  };

/** What a job needs that writes into the mirror what the service says. */
export type ServiceJobSurroundings = ErasureJobSurroundings & { service: Service; project: MirroredProject };

/** Hears how many rows of how many a part of a job has taken; null where nobody knows how many there are. */
export type OnProgress<Part extends string = string> = (
  part: Part,
  done: number,
  total: number | null,
) => void;
