import type { App } from '../app.ts';
import type { ServiceJobSurroundings } from '../worker/job-parts.ts';
import type { CommandContext } from './context.ts';

/** What a job needs that writes into the mirror what the service says. Throws as `app.service` does, first of all. */
export function serviceJob(app: App, { signal }: CommandContext): ServiceJobSurroundings {
  const service = app.service();
  const { settings, clock, log } = app;
  return { service, project: app.project(), db: app.database(), settings, clock, log, signal };
}
