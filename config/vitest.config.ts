import { existsSync, statfsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Tests keep their folders in memory where there is room: they sync thousands of small files, and none of them ends the machine. A
 * container often has 64 MB there, which would not do.
 */
function memoryFolder(): { TMPDIR?: string } {
  const folder = '/dev/shm';
  if (process.env['TMPDIR'] !== undefined || !existsSync(folder)) return {};
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize >= 4e9 ? { TMPDIR: folder } : {};
}

const everywhere = { pool: 'forks', testTimeout: 60_000, hookTimeout: 60_000, env: memoryFolder() } as const;

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
          exclude: [
            'test/**/*.long.test.ts',
            'test/**/*.slow.test.ts',
            'test/**/*.cluster.test.ts',
            'test/**/*.engine.test.ts',
            'test/browser/**',
            'test/cluster/**',
          ],
          isolate: false,
        },
      },
      { test: { ...everywhere, testTimeout: 180_000, name: 'long', include: ['test/**/*.long.test.ts'] } },
    ],
  },
});
