import type { AppSurroundings } from '../app.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';

/** Where a program runs whose service is a sandbox of this process. */
export function besideSandbox(
  { url, projectId, apiKey }: Sandbox,
  { isTerminal }: Pick<AppSurroundings, 'isTerminal'>,
): AppSurroundings {
  return {
    isTerminal,
    environment: { MIRROR_BASE_URL: url, MIRROR_PROJECT_ID: projectId, MIRROR_API_KEY: apiKey },
  };
}

/** A sandbox has no limits, and answers a second time at once. */
export const unhurried: readonly { path: string; value: unknown }[] = [
  { path: 'budget.windows', value: [] },
  { path: 'budget.recordings.windows', value: [] },
  { path: 'deletions.confirmAfterSeconds', value: 0 },
];
