import { onTestFinished } from 'vitest';
import { runScan, scanner } from '../../src/erasure/scan/run-scan.ts';
import { scanDataFolder } from '../../src/erasure/scan/scan.ts';
import { readTask, taskLines, type ScanOrder, type ScanReport } from '../../src/erasure/scan/scan-task.ts';

/** Until the test ends, scans run in this process: a process for each scan would be most of what a test takes. */
export function scanInThisProcess(scan: (typeof scanner)['scan'] = scanOrdered): void {
  scanner.scan = scan;
  onTestFinished(() => {
    scanner.scan = runScan;
  });
}

/** Does what the process of a scan does. */
export async function scanOrdered(order: ScanOrder): Promise<ScanReport> {
  return scanDataFolder(await readTask(taskLines(order)));
}
