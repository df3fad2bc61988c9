import { rmSync } from 'node:fs';
import type { PagedDataset } from '../../src/contract/datasets.ts';
import { createApp, type App } from '../../src/app/app.ts';
import { systemClock, type Clock } from '../../src/core/clock.ts';
import type { SettingsFlags } from '../../src/config/load-settings.ts';
import type { Pass } from '../../src/mirror/passes.ts';
import { startSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { reconcileAbsence, type AbsenceResult } from '../../src/sync/absence.ts';
import { syncList } from '../../src/sync/sync-list.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';

/** The program beside a sandbox that behaves as asked, in a folder of its own. */
export type SyncWorld = {
  sandbox: Sandbox;
  app: App;
  sync(dataset?: PagedDataset): Promise<Pass>;
  reconcile(): Promise<AbsenceResult>;
  /** Uuids that the mirror holds. */
  mirrored(): Set<string>;
  /** Uuids that have left the mirror. */
  deleted(): string[];
  close(): Promise<void>;
};

/** Starts both. Retries wait next to nothing, and no budget limits, unless settings say so. */
export async function openSyncWorld(
  options: Omit<SandboxOptions, 'port' | 'recordings'> & { recordings?: number },
  set: NonNullable<SettingsFlags['set']> = [],
  clock: Clock = systemClock,
): Promise<SyncWorld> {
  const sandbox = await startSandbox({ recordings: 0, hostile: true, ...options, port: 0, faultHoldMs: 100 });
  const dataDir = freshFolder();
  const environment = {
    MIRROR_BASE_URL: sandbox.url,
    MIRROR_PROJECT_ID: sandbox.projectId,
    MIRROR_API_KEY: sandbox.apiKey,
    MIRROR_DATA_DIR: dataDir,
    MIRROR_LOG_LEVEL: 'silent',
  };
  const quick = [
    { path: 'retry.delayBaseMs', value: 5 },
    { path: 'retry.delayMaxMs', value: 50 },
    { path: 'retry.attemptsMax', value: 12 },
    { path: 'budget.windows', value: [] },
    { path: 'budget.recordings.windows', value: [] },
    { path: 'deletions.confirmAfterSeconds', value: 0 },
  ];
  const app = createApp({ environment, isTerminal: false, clock }, { set: [...quick, ...set] });
  const signal = new AbortController().signal;
  const parts = () => ({
    db: app.database(),
    service: app.service(),
    settings: app.settings,
    clock: app.clock,
    signal,
  });
  const uuids = (sql: string): string[] => app.database().prepare<[], string>(sql).pluck().all();
  return {
    sandbox,
    app,
    sync: (dataset = 'persons') =>
      syncList({ ...parts(), dataset, mode: 'full', resume: true, onProgress: () => undefined }),
    reconcile: () => reconcileAbsence(parts()),
    mirrored: () => new Set(uuids(`SELECT uuid FROM persons`)),
    deleted: () => uuids(`SELECT key FROM deletions WHERE dataset = 'persons'`),
    close: async () => {
      await app[Symbol.asyncDispose]();
      await sandbox.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** How many persons who lived all through a pass the mirror has not seen. */
export function missingAfter(world: SyncWorld, since: number): number {
  const seen = world.mirrored();
  return [...world.sandbox.stableSince(since)].filter((uuid) => !seen.has(uuid)).length;
}

/** How many of those that left the mirror live. */
export function wronglyDeleted(world: SyncWorld): number {
  const living = new Set([...world.sandbox.living()].map(({ uuid }) => uuid));
  return world.deleted().filter((uuid) => living.has(uuid)).length;
}
