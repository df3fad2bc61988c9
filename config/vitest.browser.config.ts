import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** What needs a browser: the status page in every state of the world, as a person sees it. */
export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['test/browser/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 240_000,
    hookTimeout: 60_000,
    // An open page asks every two seconds whether there is something else to show.
    expect: { poll: { timeout: 10_000 } },
    reporters: ['default', './config/closing-line.ts'],
  },
});
