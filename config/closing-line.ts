import type { Reporter, TestModule } from 'vitest/node';

/** Prints `N passed, N failed` as the last line of a run, for whoever reads only that. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(testModules: readonly TestModule[]): void {
    let passed = 0;
    let failed = 0;
    for (const testModule of testModules) {
      const states = [...testModule.children.allTests()].map((test) => test.result().state);
      passed += states.filter((state) => state === 'passed').length;
      const failures = states.filter((state) => state === 'failed').length;
      // A file that broke before or beside its tests is a failure too.
      failed += testModule.state() === 'failed' ? Math.max(1, failures) : failures;
    }
    // After the default reporter's own summary, which is written in the same turn.
    process.once('beforeExit', () => process.stdout.write(`${passed} passed, ${failed} failed\n`));
  }
}
