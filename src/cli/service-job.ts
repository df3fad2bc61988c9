import type { App } from '../app.ts';
import type { ErasureJobSurroundings, ServiceJobSurroundings } from '../worker/job-parts.ts';
import type { CommandContext } from './context.ts';

/** What a job needs that writes into the mirror what the service says. Throws as `app.service` does, first of all. */
export function serviceJob(app: App, { signal }: Pick<CommandContext, 'signal'>): ServiceJobSurroundings {
  const service = app.service();
  const { settings, clock, log, tracer, openLedger } = app;
  const project = app.project();
  return { service, project, db: app.database(), settings, clock, log, tracer, signal, openLedger };
}

/** What a job needs that erases people: the service too, where one is configured. */
export function erasureJob(app: App, context: CommandContext): ErasureJobSurroundings {
  if (app.hasService) return serviceJob(app, context);
  const { settings, clock, log, openLedger } = app;
  const { signal } = context;
  return { service: null, project: null, db: app.database(), settings, clock, log, signal, openLedger };
}
