import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const everywhere = { pool: 'forks', testTimeout: 60_000, hookTimeout: 60_000 } as const;

/** Starts the files that take longest first, also on a machine that has never run them: they start processes, or play much. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- not the sort of an array
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => /\.(?:e2e|crash|property)\./.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

/**
 * Two sets of tests, told apart by the name of the file. `fast` is what `npm test` runs: `*.test.ts`, one process a core for
 * all files, so that each module is loaded once. `long` is `*.long.test.ts`: each file in a process of its own.
 */
export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    maxWorkers: '100%',
    sequence: { sequencer: LongestFirst },
    reporters: ['default', './config/closing-line.ts'],
    projects: [
      {
        test: {
          ...everywhere,
          name: 'fast',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.long.test.ts', 'test/**/*.slow.test.ts', 'test/browser/**', 'test/cluster/**'],
          isolate: false,
        },
      },
      { test: { ...everywhere, testTimeout: 180_000, name: 'long', include: ['test/**/*.long.test.ts'] } },
    ],
  },
});
