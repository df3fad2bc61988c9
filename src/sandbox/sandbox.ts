import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { schedule } from 'node-cron';
import { systemClock, type Clock } from '../core/clock.ts';
import { sha256 } from '../core/digest.ts';
import { AppError, systemCode } from '../core/errors.ts';
import { scopes } from '../contract/endpoints.ts';
import { fillStore, type Amounts } from './generator/fill-store.ts';
import { createApp } from './http/app.ts';
import { listenOnLoopback, type LoopbackServer } from './http/loopback-server.ts';
import { sandboxClock, type SandboxClock } from './sandbox-clock.ts';
import { openStore, type Store } from './store/store.ts';

/** What data to serve and where. An existing folder keeps its data, whatever amounts and seed are asked for. */
export type SandboxOptions = Amounts & {
  /** 0 takes any free port. */
  port: number;
  /** Folder of the SQLite file; without one everything is in memory. */
  dir?: string | undefined;
  clock?: Clock | undefined;
};

/** The documented service, running on this machine. */
export type Sandbox = {
  /** Where it listens, without a trailing slash. */
  url: string;
  projectId: string;
  /** Has every scope. */
  apiKey: string;
  /** Has only the scopes to read. */
  readOnlyKey: string;
  /** Short ids, which no list shows. */
  playlists: string[];
  store: Store;
  clock: SandboxClock;
  /** Stops serving and frees the port, the timer and the store. A second call waits for the first. */
  close(): Promise<void>;
};

const projectId = '1';

/**
 * Starts the documented service on 127.0.0.1. Rejects with a `usage` error when the port is taken, and with a
 * `storage` error when the folder cannot be used.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const store = openSandboxStore(options);
  const seed = store.settings.get('seed') ?? options.seed;
  const clock = sandboxClock(options.clock ?? systemClock, store);
  const keys = keysOf(seed);
  const app = createApp({ store, clock, projectId, apiKey: keys.apiKey });
  // Sundays are those of the sandbox's clock, so the timer only asks what is due; it never decides.
  const timer = schedule('* * * * *', () => store.events.runDueDeletions(clock.now()), {
    timezone: 'UTC',
    noOverlap: true,
    unref: true,
    missedExecutionTolerance: 60_000,
    suppressMissedWarning: true,
  });
  const close = async (server: LoopbackServer): Promise<void> => {
    await timer.destroy();
    await server.close();
    store.close();
  };
  let closed: Promise<void> | undefined;
  try {
    const server = await listenOnLoopback(options.port, app.fetch, clock);
    return {
      url: server.url,
      projectId,
      ...keys,
      playlists: store.playlists.shortIds(),
      store,
      clock,
      close: () => (closed ??= close(server)),
    };
  } catch (error) {
    await timer.destroy();
    store.close();
    throw error;
  }
}

function openSandboxStore({ dir, ...amounts }: SandboxOptions): Store {
  try {
    if (dir !== undefined) mkdirSync(dir, { recursive: true, mode: 0o700 });
    return openStore(dir === undefined ? ':memory:' : join(dir, 'sandbox.db'), (store) => {
      fillStore(store, amounts);
      const { apiKey, readOnlyKey } = keysOf(amounts.seed);
      store.apiKeys.issue(apiKey, 1, scopes);
      store.apiKeys.issue(
        readOnlyKey,
        2,
        scopes.filter((scope) => scope.endsWith(':read')),
      );
    });
  } catch (cause) {
    if (systemCode(cause) === undefined) throw cause;
    throw new AppError('sandbox: its folder cannot be used', {
      code: 'storage',
      hint: 'Choose another folder, or none to keep everything in memory.',
      cause,
    });
  }
}

/** The same for a seed each time, and unmistakably of a sandbox. */
function keysOf(seed: number): { apiKey: string; readOnlyKey: string } {
  return {
    apiKey: `sandbox_full_${sha256(`full ${seed}`).slice(0, 32)}`,
    readOnlyKey: `sandbox_read_${sha256(`read ${seed}`).slice(0, 32)}`,
  };
}
