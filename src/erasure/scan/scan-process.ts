import process from 'node:process';
import { text } from 'node:stream/consumers';
import { AppError, systemCode } from '../../core/errors.ts';
import { scanDataFolder } from './scan.ts';
import { ScanTask, type ScanFailure } from './scan-task.ts';

// The scanner as a process: the task comes on standard input and the report goes to standard output, both one JSON
// object, since arguments can be read by everybody on the machine. What goes wrong is said without its words, which
// may hold anything.

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
// Who asked for the scan may have been killed. Then nobody is left to be told, which is no error to be told of, and the
// mirror must not be held open for nobody.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
const asker = process.ppid;
const lookForAsker = (): void => {
  if (process.ppid !== asker) process.kill(process.pid, 'SIGKILL');
};
setInterval(lookForAsker, 1000).unref();
try {
  const task = ScanTask.safeParse(JSON.parse(await text(process.stdin)));
  if (!task.success) throw new TypeError('not a task');
  process.stdout.write(JSON.stringify(await scanDataFolder(task.data)));
} catch (error) {
  fail(error);
}
