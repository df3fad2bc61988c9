import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import v8 from 'node:v8';
import { systemClock } from '../../src/core/clock.ts';
import { scanner } from '../../src/erasure/scan/run-scan.ts';
import { scanDataFolder } from '../../src/erasure/scan/scan.ts';
import { readTask, taskLines } from '../../src/erasure/scan/scan-task.ts';
import { runCliHere, type Ended } from '../cli/run-cli.ts';
import type { KillPoint } from '../kill/kill-point.ts';
import { createKillSwitch } from '../kill/kill-switch.ts';
import { listedSince, playlistId } from './service.ts';
import type { Kind } from './world.ts';

// The memory of this process is not what is tested: no collection of a large heap before each export.
const heapOf = v8.getHeapStatistics;
v8.getHeapStatistics = () => ({ ...heapOf(), total_heap_size: 0 });
syncBuiltinESMExports();

/** What can be lost, or put back from an older copy, in one go. Each is a path below the data folder. */
export const parts = {
  mirror: ['mirror.db'],
  ledger: ['ledger'],
  keys: ['keys'],
  'signing key': ['keys/ledger.key'],
  'public keys': ['ledger/public-keys.txt'],
  snapshots: ['snapshots'],
  'mirror and ledger': ['mirror.db', 'ledger'],
} as const;
export type Part = keyof typeof parts;

/** How a command ended; `isKilled` where a kill ended it. */
export type Done = Ended & { args: readonly string[]; isKilled: boolean };

/** Hears how a command ended, and when, by the time of the world. */
export type OnDone = (done: Done, nowMs: number) => void;

/** A machine with the program, a data folder, a clock of its own, and copies of the folder. */
export type Machine = {
  folder: string;
  dataDir: string;
  /** A DuckDB file beside it. */
  warehouse: string;
  /** How far its clock is ahead of the world's. */
  aheadMs: number;
  run: (args: readonly string[], kill?: KillPoint) => Promise<Done>;
  /** Copies the data folder aside. */
  backUp: () => void;
  /** Puts a part back as it was at a backup, or removes it (null). Says whether anything was changed. */
  restore: (part: Part, backup: number | null) => boolean;
  backups: () => number;
  close: () => void;
};

/** What is published of addresses: all, nothing, or a hash. */
const masks = { none: [], left: ['email'], hash: [{ property: 'email', how: 'hash' }] };
export type Mask = keyof typeof masks;

/** Small pages and parts, so that there are several of each, also of few rows. */
const settingsFor = ({ isLive, crowd, mask }: Kind): object => {
  const { pageSize, partRows } = crowd === 0 ? { pageSize: 4, partRows: 4 } : { pageSize: 100, partRows: 400 };
  return {
    persons: { pageSize, overlap: 1 },
    recordings: { pageSize, overlap: 1, query: isLive ? { date_from: listedSince } : {} },
    budget: { windows: [], recordings: { windows: [] } },
    retry: { attemptsMax: 2 },
    deletions: { maxShare: 1 },
    playlists: { shortIds: [playlistId] },
    export: { partRows, keep: 2, iceberg: false, mask: masks[mask] },
    log: { level: 'silent' },
  };
};

/**
 * A fresh folder for the service at `url`. `world` is the time of the world; what waits moves it on.
 */
export function openMachine(
  url: string,
  world: { nowMs: number },
  kind: Kind,
  onDone: OnDone = () => undefined,
): Machine {
  const { scan } = scanner;
  // A process for each scan would be most of what a history takes.
  scanner.scan = async (order) => scanDataFolder(await readTask(taskLines(order)));
  const folder = mkdtempSync(join(tmpdir(), 'histories-'));
  const dataDir = join(folder, 'data');
  const config = join(folder, 'config.json');
  writeFileSync(config, JSON.stringify(settingsFor(kind)));
  const environment = {
    MIRROR_BASE_URL: url,
    MIRROR_PROJECT_ID: '1',
    MIRROR_API_KEY: 'phx_histories',
    MIRROR_DATA_DIR: dataDir,
    MIRROR_CONFIG: config,
  };
  let backups = 0;
  const machines = { ...systemClock };
  const machine: Machine = {
    folder,
    dataDir,
    warehouse: join(folder, 'warehouse.duckdb'),
    aheadMs: 0,
    run: async (args, kill) => {
      world.nowMs += 60_000;
      // Time passes while it works: two things seldom happen in the same millisecond.
      systemClock.now = () => {
        world.nowMs += 1;
        return world.nowMs + machine.aheadMs;
      };
      systemClock.sleep = (ms) => {
        world.nowMs += ms;
        return Promise.resolve();
      };
      let ended: Ended = { code: null, stdout: '', stderr: '' };
      const run = async (): Promise<void> => {
        ended = await runCliHere(args, environment);
      };
      try {
        const isKilled = kill !== undefined && (await createKillSwitch(dataDir, kill).run(run));
        if (kill === undefined) await run();
        const done = { ...ended, args, isKilled };
        onDone(done, world.nowMs);
        return done;
      } finally {
        Object.assign(systemClock, machines);
      }
    },
    backUp: () => {
      backups += 1;
      if (existsSync(dataDir)) cpSync(dataDir, join(folder, `backup-${backups}`), { recursive: true });
      else mkdirSync(join(folder, `backup-${backups}`));
    },
    restore: (part, backup) => {
      let isChanged = false;
      for (const path of parts[part]) {
        const kept = backup === null ? undefined : join(folder, `backup-${backup}`, path);
        if (kept !== undefined && !existsSync(kept)) continue;
        isChanged ||= existsSync(join(dataDir, path));
        rmSync(join(dataDir, path), { recursive: true, force: true });
        if (path === 'mirror.db')
          for (const suffix of ['-wal', '-shm']) rmSync(join(dataDir, path + suffix), { force: true });
        if (kept !== undefined) cpSync(kept, join(dataDir, path), { recursive: true });
      }
      return isChanged;
    },
    backups: () => backups,
    close: () => {
      scanner.scan = scan;
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return machine;
}
