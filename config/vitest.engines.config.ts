import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** What needs warehouses: `.ci/loading` starts them, and gives LOAD_POSTGRES and LOAD_CLICKHOUSE. */
export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['test/**/*.engine.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 600_000,
    hookTimeout: 60_000,
    reporters: ['default', './config/closing-line.ts'],
  },
});
