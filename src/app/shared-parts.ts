import type { Budget } from '../client/budget.ts';
import { openClusterDatabase, type ClusterDatabase } from '../cluster/cluster-database.ts';
import { openStorage } from '../cluster/cluster-home.ts';
import type { SharedStorage } from '../cluster/held-project.ts';
import type { Environment, Secrets } from '../config/environment.ts';
import type { LoadedSettings } from '../config/load-settings.ts';
import { systemClock, type Clock } from '../core/clock.ts';
import { createLogger, type DestinationStream, type Logger } from '../log/logger.ts';
import { openTracer } from '../log/open-tracer.ts';
import type { Tracer } from '../log/tracer.ts';
import packageJson from '../../package.json' with { type: 'json' };

/** The environment that the program runs in. */
export type AppSurroundings = {
  environment: Environment;
  /** Whether standard error is a terminal: progress bars and coloured lines are for people only. */
  isTerminal: boolean;
  /** Where log lines go, instead of the process's standard error. */
  logTo?: DestinationStream | undefined;
  /** The machine's clock, unless a drill brings its own. */
  clock?: Clock | undefined;
  /** Whether a job waits while another run holds the data folder. */
  wait?: boolean | undefined;
};

/** The parts that all projects of a process share. */
export type SharedParts = {
  log: Logger;
  clock: Clock;
  tracer: Tracer;
  wait: boolean | undefined;
  environment: Environment;
  secrets: Secrets;
  /** The database of a cluster, and what holds its projects; null where none is configured. */
  cluster: ClusterDatabase | null;
  storage: SharedStorage | null;
  /** Budgets by a digest of service and key: projects with one key share one. */
  budgets: Map<string, Budget>;
};

/** Makes the shared parts from the settings of the first project. Nothing is opened yet. */
export function sharedParts(
  { settings, secrets }: LoadedSettings & { secrets: Secrets },
  { environment, isTerminal, logTo, clock = systemClock, wait }: AppSurroundings,
): SharedParts {
  const log = createLogger({ level: settings.log.level, isTerminal, destination: logTo });
  const tracer = openTracer(environment, {
    version: packageJson.version,
    now: () => systemClock.now(),
    onLost: (spans, reason) => log.warn({ spans, reason }, 'traces were lost'),
  });
  const address = secrets.clusterDatabase ?? settings.cluster.database;
  const cluster = address === null ? null : openClusterDatabase(address);
  const storage = openStorage(settings.cluster, { database: cluster, address, key: secrets.clusterKey });
  return { log, tracer, clock, wait, environment, secrets, cluster, storage, budgets: new Map() };
}
