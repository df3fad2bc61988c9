import type { Reporter, TestModule } from 'vitest/node';

/** Prints `N passed, N failed` as the last line of a run, for whoever reads only that. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(testModules: readonly TestModule[]): void {
    let passed = 0;
    let failed = 0;
    for (const testModule of testModules) {
      if (testModule.state() === 'failed' && testModule.children.size === 0) failed += 1;
      for (const test of testModule.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') passed += 1;
        if (state === 'failed') failed += 1;
      }
    }
    // After the default reporter's own summary, which is written in the same turn.
    process.once('beforeExit', () => process.stdout.write(`${passed} passed, ${failed} failed\n`));
  }
}
