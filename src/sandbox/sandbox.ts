import { schedule } from 'node-cron';
import { systemClock, type Clock } from '../core/clock.ts';
import type { Listening } from '../core/listening.ts';
import { act, Action, type ActionResult } from './actions.ts';
import { createChurn } from './churn/churn.ts';
import type { FaultKind, FaultOptions } from './faults/fault-plan.ts';
import type { Amounts } from './generator/fill-store.ts';
import { createApp } from './http/app.ts';
import { checkInput } from './http/check-input.ts';
import { keyIndexes } from './http/authorize.ts';
import { listenOnLoopback, type DateOfAnswer } from './http/loopback-server.ts';
import { documentedProfile } from './http/profile.ts';
import { createTraffic, requestLog, type LoggedRequest } from './http/traffic.ts';
import { liveDefaults, type LiveOptions } from './live/live-data.ts';
import { liveProfile } from './live/live-profile.ts';
import { openSandboxStore, keysOf, recordingStyle, type ProfileName } from './open-sandbox-store.ts';
import type { RateLimit } from './rate-limits.ts';
import { sandboxClock, type SandboxClock } from './sandbox-clock.ts';
import type { Store } from './store/store.ts';
import type { Truth } from './store/truth.ts';

/** What data to serve and where. An existing folder keeps its data; the amounts are then ignored. */
export type SandboxOptions = Amounts & {
  /** 0 takes any free port. */
  port: number;
  /** The folder of the SQLite file. Without a folder, everything is in memory. */
  dir?: string | undefined;
  clock?: Clock | undefined;
  /** The time that the `Date` of an answer tells (milliseconds since 1970), by the request; where it gives none, the clock's. */
  dateMs?: DateOfAnswer | undefined;
  /** Whether the sandbox answers as documented, or with the differences of live services. */
  profile?: ProfileName | undefined;
  live?: Partial<LiveOptions> | undefined;
  /** How many changes of the data are made per request, between list requests; may be fractional. */
  churn?: number | undefined;
  faults?: FaultKind | undefined;
  /** The share, from 0 to 1, of the requests that the fault can strike. */
  faultShare?: number | undefined;
  /** The longest delay of an answer by a fault, in milliseconds. */
  faultHoldMs?: number | undefined;
  /** The rate limits of each key. A request above them gets a 429. */
  rates?: readonly RateLimit[] | undefined;
};

/** The service, running on this machine, with the data as they really are. */
export type Sandbox = Omit<Truth, 'createdSince'> & {
  /** Where it listens, without a trailing slash. */
  url: string;
  projectId: string;
  /** Has every scope. */
  apiKey: string;
  /** Has only the scopes to read. */
  readOnlyKey: string;
  /** The short ids of the playlists, which no list shows. */
  playlists: string[];
  store: Store;
  clock: SandboxClock;
  /** The latest 200,000 requests to the API, in the order in which they arrived. */
  requests(): LoggedRequest[];
  clearRequests(): void;
  /** Changes the service from outside its API. Throws a `Refusal` for an action that is not possible. */
  act(action: Action): ActionResult;
  /** Stops serving and frees the port, the timer and the store. A second call waits for the first. */
  close(): Promise<void>;
};

const projectId = '1';
const loggedRequestsMax = 200_000;
const faultDefaults = { share: 0.15, holdMs: 3000 };

function faultsOf(seed: number, { faults: kind, faultShare, faultHoldMs }: SandboxOptions): FaultOptions | undefined {
  const { share, holdMs } = faultDefaults;
  return kind && { kind, seed, share: faultShare ?? share, holdMs: faultHoldMs ?? holdMs };
}

/**
 * Starts the service on 127.0.0.1. Rejects with a `usage` error when the port is taken, and with a
 * `storage` error when the folder cannot be used.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { profile: profileName = 'documented', churn: rate, hostile = false } = options;
  const base = options.clock ?? systemClock;
  const live = profileName === 'live' ? { ...liveDefaults, ...options.live } : undefined;
  const store = openSandboxStore(options.dir, {
    amounts: options,
    style: recordingStyle(profileName, base),
    live,
    nowMs: Math.floor(base.now()),
  });
  const seed = store.settings.get('seed') ?? options.seed;
  const conditions = {
    projectVanished: false,
    listsEmpty: false,
    batchRuns: true,
    revivesId: live?.revivesId ?? false,
  };
  const runDueDeletions = (nowMs: number): number[] =>
    conditions.batchRuns ? store.events.runDueDeletions(nowMs) : [];
  const clock = sandboxClock(base, store.settings, runDueDeletions);
  const keys = keysOf(seed);
  const profile = live ? liveProfile(store, clock, live) : documentedProfile;
  const log = requestLog(loggedRequestsMax);
  const recordings = recordingStyle(profileName, clock);
  const traffic = createTraffic({
    profile,
    clock,
    log,
    keyIndexes: keyIndexes(store.apiKeys, [keys.apiKey, keys.readOnlyKey]),
    rates: options.rates ?? [],
    faults: faultsOf(seed, options),
    churn: rate === undefined ? undefined : createChurn({ store, seed, rate, recordings, hostile }),
    conditions,
  });
  const app = createApp({ store, clock, projectId, profile, conditions, traffic, log });
  // The sandbox's clock decides what is due. The timer only asks.
  const timer = schedule('* * * * *', () => runDueDeletions(clock.now()), {
    timezone: 'UTC',
    noOverlap: true,
    unref: true,
    missedExecutionTolerance: 60_000,
    suppressMissedWarning: true,
  });
  const close = async (server: Listening): Promise<void> => {
    await timer.destroy();
    await server.close();
    store.close();
  };
  let closed: Promise<void> | undefined;
  try {
    const server = await listenOnLoopback(
      options.port,
      app.fetch,
      (...about) => options.dateMs?.(...about) ?? clock.now(),
    );
    return {
      url: server.url,
      projectId,
      ...keys,
      playlists: store.playlists.shortIds(),
      store,
      clock,
      requests: log.all,
      clearRequests: log.clear,
      ...store.truth,
      act: (action) => act(store, { clock, conditions }, checkInput(Action, action)),
      close: () => (closed ??= close(server)),
    };
  } catch (error) {
    await timer.destroy();
    store.close();
    throw error;
  }
}
