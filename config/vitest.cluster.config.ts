import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const large = ['test/cluster/**/*.slow.test.ts', 'test/attacks/**/*.cluster.test.ts'];
const everywhere = { pool: 'forks', hookTimeout: 60_000 } as const;

/**
 * What needs a real Postgres or a real store: `.ci/cluster` starts them, and gives CLUSTER_DATABASE and BUCKET_STORE. `cluster-large`
 * is what takes minutes: `.ci/cluster --large`.
 */
export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    // Most of them wait: for leases that end, and for a store that does not answer.
    maxWorkers: 4,
    reporters: ['default', './config/closing-line.ts'],
    projects: [
      {
        test: {
          ...everywhere,
          name: 'cluster',
          include: ['test/cluster/**/*.test.ts'],
          exclude: large,
          testTimeout: 360_000,
        },
      },
      { test: { ...everywhere, name: 'cluster-large', include: large, testTimeout: 3_600_000 } },
    ],
  },
});
