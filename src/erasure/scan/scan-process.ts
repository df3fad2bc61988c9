import process from 'node:process';
import { createInterface } from 'node:readline';
import { answerApart } from '../../core/apart.ts';
import { scanDataFolder } from './scan.ts';
import { readTask } from './scan-task.ts';

// The scanner as a process. The one that asked for the scan may have been killed: then it ends, so that it does not keep the mirror
// open.
const parent = process.ppid;
const endWithParent = (): void => {
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
};
setInterval(endWithParent, 1000).unref();

await answerApart('the scan', async () =>
  scanDataFolder(await readTask(createInterface({ input: process.stdin, crlfDelay: Infinity }))),
);
