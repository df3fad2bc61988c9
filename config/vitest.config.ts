import { defineConfig } from 'vitest/config';

/** The fast set: everything but what `npm run test:slow` runs. Files run in parallel processes. */
export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/**/*.slow.test.ts', 'test/browser/**'],
    pool: 'forks',
    maxWorkers: '100%',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default', './config/closing-line.ts'],
  },
});
