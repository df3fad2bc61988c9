import { defineConfig } from 'vitest/config';

/** What needs a real Postgres: `.ci/cluster` starts one, and gives its address as CLUSTER_DATABASE. */
export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  test: {
    include: ['test/cluster/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default', './config/closing-line.ts'],
  },
});
