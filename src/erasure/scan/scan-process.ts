import process from 'node:process';
import { createInterface } from 'node:readline';
import { AppError, systemCode } from '../../core/errors.ts';
import { scanDataFolder } from './scan.ts';
import { readTask, type ScanFailure } from './scan-task.ts';

// The scanner as a process. The task comes on standard input, since every user of the machine can read arguments. The
// report goes to standard output. Both are one JSON object. A failure is reported without the words of its error: they may
// hold personal data.

function fail(error: unknown): void {
  const failure: ScanFailure =
    error instanceof AppError
      ? { message: error.message, hint: error.hint ?? null }
      : { message: `the scan failed (${systemCode(error) ?? nameOf(error)})`, hint: null };
  process.stderr.write(`${JSON.stringify(failure)}\n`);
  process.exitCode = 1;
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown';
}

process.on('uncaughtException', fail);
// The process that asked for the scan may have been killed. Then writing to it fails, which is ignored, and this process
// ends, so that it does not keep the mirror open.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
const parent = process.ppid;
const endWithParent = (): void => {
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
};
setInterval(endWithParent, 1000).unref();
try {
  const task = await readTask(createInterface({ input: process.stdin, crlfDelay: Infinity }));
  process.stdout.write(JSON.stringify(await scanDataFolder(task)));
} catch (error) {
  fail(error);
}
