import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** The most memory (bytes) that a process has had until it ended, read from outside. Ends one that has more than `bytesMax`. On Linux only. */
export async function peakOf(
  child: Pick<ChildProcess, 'pid' | 'exitCode' | 'signalCode' | 'kill'>,
  bytesMax = Infinity,
): Promise<number> {
  let bytes = 0;
  while (child.exitCode === null && child.signalCode === null) {
    try {
      const [, kilobytes = '0'] = /VmHWM:\s*(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
      bytes = Math.max(bytes, Number(kilobytes) * 1024);
      if (bytes > bytesMax) child.kill('SIGKILL');
    } catch {
      // It has just ended.
    }
    await delay(20);
  }
  return bytes;
}
