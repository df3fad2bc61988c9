import { clusterTiming } from '../../src/cluster/timing.ts';

// Preloaded into a machine of a cluster: takeovers come within seconds (LEASE_MS), and its clock is ahead by CLOCK_AHEAD_MS milliseconds.
Object.assign(clusterTiming, { beatMs: 500, leaseMs: Number(process.env['LEASE_MS'] ?? 9_000) });

const aheadMs = Number(process.env['CLOCK_AHEAD_MS'] ?? 0);
const { now } = Date;
if (aheadMs !== 0)
  globalThis.Date = new Proxy(Date, {
    construct: (target, given: unknown[], newTarget) =>
      Reflect.construct(target, given.length === 0 ? [now() + aheadMs] : given, newTarget) as object,
    get: (target, name) => (name === 'now' ? () => now() + aheadMs : (Reflect.get(target, name) as unknown)),
  });
