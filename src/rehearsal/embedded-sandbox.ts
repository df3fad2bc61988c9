import { systemClock, type Clock } from '../core/clock.ts';
import type { AppSurroundings } from '../app/shared-parts.ts';
import type { Sandbox, SandboxOptions } from '../sandbox/sandbox.ts';

/** Starts a sandbox in this process. Its server is loaded only then: the worker needs it when a drill is due, not before. */
export async function startEmbeddedSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { startSandbox } = await import('../sandbox/sandbox.ts');
  return startSandbox(options);
}

/** The surroundings of a program whose service is a sandbox of this process. */
export function besideSandbox({ url, projectId, apiKey }: Sandbox, isTerminal = false): AppSurroundings {
  return { isTerminal, environment: { MIRROR_BASE_URL: url, MIRROR_PROJECT_ID: projectId, MIRROR_API_KEY: apiKey } };
}

/** The clock of a program that lives in the time of a sandbox. */
export function clockOf(sandbox: Sandbox): Clock {
  return { ...systemClock, now: () => sandbox.clock.now() };
}

/** Settings for a sandbox: it has no limits, answers a second time at once, and is too small to fill a disk. */
export const unhurried: readonly { path: string; value: unknown }[] = [
  { path: 'budget.windows', value: [] },
  { path: 'budget.recordings.windows', value: [] },
  { path: 'deletions.confirmAfterSeconds', value: 0 },
  { path: 'alerts.diskFreeBytesMin', value: 0 },
];
