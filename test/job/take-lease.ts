import type { Clock } from '../../src/core/clock.ts';
import type { Database } from '../../src/mirror/database.ts';
import { waitForLease, type Lease } from '../../src/job/lease.ts';

/** Takes the lease, or rejects at once with `busy`. */
export function acquireLease(db: Database, job: string, clock: Clock): Promise<Lease> {
  const { signal } = new AbortController();
  return waitForLease(db, { job, clock, signal, untilMs: -Infinity, onWait: () => undefined });
}
