import { defineConfig } from 'vitest/config';

/** What needs a real Postgres or a real store: `.ci/cluster` starts them, and gives CLUSTER_DATABASE and BUCKET_STORE. */
export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  test: {
    include: ['test/cluster/**/*.test.ts'],
    pool: 'forks',
    // Most of them wait: for leases that end, and for a store that does not answer.
    maxWorkers: 4,
    testTimeout: 120_000,
    hookTimeout: 60_000,
    reporters: ['default', './config/closing-line.ts'],
  },
});
