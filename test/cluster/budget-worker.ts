import process from 'node:process';
import { createApp } from '../../src/app/app.ts';
import { systemClock } from '../../src/core/clock.ts';

// One machine of a cluster: makes requests as fast as the shared budget allows, until it is killed.

/** What the process is told, as JSON, in its one argument. `aheadMs`: how far its clock is wrong. */
export type WorkerOptions = { dataDir: string; origin: string; database: string; windows: object[]; aheadMs: number };

const { dataDir, origin, database, windows, aheadMs } = JSON.parse(process.argv[2] ?? '') as WorkerOptions;
const app = createApp(
  {
    environment: {
      MIRROR_BASE_URL: origin,
      MIRROR_PROJECT_ID: '1',
      MIRROR_API_KEY: 'key',
      MIRROR_CLUSTER_DATABASE: database,
    },
    isTerminal: false,
    clock: { ...systemClock, now: () => systemClock.now() + aheadMs },
  },
  {
    set: [
      { path: 'dataDir', value: dataDir },
      { path: 'log.level', value: 'silent' },
      { path: 'budget.windows', value: windows },
      { path: 'service.totalTimeoutMs', value: 1000 },
    ],
  },
);
app.database();
const ask = async (): Promise<void> => {
  for (;;) await app.service().call('persons.list', { query: { limit: 1, offset: 0 } });
};
await Promise.all([ask(), ask(), ask(), ask()]);
