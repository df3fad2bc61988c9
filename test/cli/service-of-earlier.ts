import { systemClock } from '../../src/core/clock.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';

/**
 * A service whose data live three weeks ago, so that its weekly batch has long had its time. Only what it answers to deletions
 * tells so: by every other answer its clock agrees with the machine's.
 */
export const serviceOfEarlier: Pick<SandboxOptions, 'clock' | 'dateMs'> = {
  clock: { ...systemClock, now: () => Date.now() - 21 * 86_400_000 },
  dateMs: (method, path) =>
    method === 'DELETE' || /bulk_delete|deletion_status/.test(path) ? undefined : systemClock.now(),
};
