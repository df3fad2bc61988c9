import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** What takes minutes: long property runs, kills at random moments, large lists. */
export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['test/**/*.slow.test.ts'],
    // They need what `.ci/cluster --large` starts.
    exclude: ['test/cluster/**'],
    pool: 'forks',
    testTimeout: 2_400_000,
    hookTimeout: 120_000,
    reporters: ['default', './config/closing-line.ts'],
  },
});
