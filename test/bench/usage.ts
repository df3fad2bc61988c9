import { readFileSync } from 'node:fs';

/**
 * What a process has used: processor time with that of its children that have ended (Linux), its own peak memory, and what it gave the
 * disk to write itself (0 where the system does not tell).
 */
export type Usage = { cpuMs: number; peakRssBytes: number; writtenBytes: number };

/** What this process has used up to now. */
export function usageOfProcess(): Usage {
  const { userCPUTime, systemCPUTime, maxRSS, fsWrite } = process.resourceUsage();
  return {
    cpuMs: (userCPUTime + systemCPUTime) / 1000 + childrenMs(),
    peakRssBytes: maxRSS * 1024,
    writtenBytes: fsWrite * 512,
  };
}

/** Of children that have ended, in ticks of 10 ms: proc_pid_stat(5), cutime and cstime. */
function childrenMs(): number {
  if (process.platform !== 'linux') return 0;
  const [, behindName = ''] = readFileSync('/proc/self/stat', 'utf8').split(') ');
  const [user = 0, system = 0] = behindName.split(' ').slice(13, 15).map(Number);
  return (user + system) * 10;
}
