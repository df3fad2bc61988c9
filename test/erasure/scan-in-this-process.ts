import { onTestFinished } from 'vitest';
import { runScan, scanner } from '../../src/erasure/scan/run-scan.ts';
import { scanDataFolder } from '../../src/erasure/scan/scan.ts';

/** Until the test ends, scans run in this process: a process for each scan would be most of what a test takes. */
export function scanInThisProcess(
  scan: (typeof scanner)['scan'] = (task) => scanDataFolder({ ...task, subjects: [...task.subjects] }),
): void {
  scanner.scan = scan;
  onTestFinished(() => {
    scanner.scan = runScan;
  });
}
