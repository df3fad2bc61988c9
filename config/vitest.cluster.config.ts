import process from 'node:process';
import { defineConfig } from 'vitest/config';

const slow = 'test/cluster/**/*.slow.test.ts';
const isLarge = process.env['CLUSTER_LARGE'] === '1';

/**
 * What needs a real Postgres or a real store: `.ci/cluster` starts them, and gives CLUSTER_DATABASE and BUCKET_STORE. With
 * CLUSTER_LARGE=1 (`.ci/cluster --large`), what takes minutes.
 */
export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  test: {
    include: [isLarge ? slow : 'test/cluster/**/*.test.ts'],
    exclude: isLarge ? [] : [slow],
    pool: 'forks',
    // Most of them wait: for leases that end, and for a store that does not answer.
    maxWorkers: isLarge ? 2 : 4,
    testTimeout: isLarge ? 3_600_000 : 120_000,
    hookTimeout: 60_000,
    reporters: ['default', './config/closing-line.ts'],
  },
});
