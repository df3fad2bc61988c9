/** What a process has used: processor time, peak memory, and what it gave the disk to write (0 where the system does not tell). */
export type Usage = { cpuMs: number; peakRssBytes: number; writtenBytes: number };

/** What this process has used up to now. */
export function usageOfProcess(): Usage {
  const { userCPUTime, systemCPUTime, maxRSS, fsWrite } = process.resourceUsage();
  return { cpuMs: (userCPUTime + systemCPUTime) / 1000, peakRssBytes: maxRSS * 1024, writtenBytes: fsWrite * 512 };
}
