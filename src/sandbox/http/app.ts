import { Hono } from 'hono';
import type { RequestLog } from './traffic.ts';
import { addClockRoutes, addControlRoutes } from './control-routes.ts';
import { addEndpointRoutes, type Environment, type Service } from './endpoint-routes.ts';
import { examplesOf } from './examples.ts';
import { openApi } from './openapi.ts';
import { Refusal, toResponse } from './answer.ts';

/** The service over HTTP: its endpoints, `/`, `/openapi.json`, and the sandbox's own under `/__sandbox`. */
export function createApp(service: Service & { log: RequestLog }): Hono<Environment> {
  // Not strict: every path answers with and without a trailing slash.
  const app = new Hono<Environment>({ strict: false });
  app.get('/', (context) => context.redirect('/openapi.json'));
  app.get('/openapi.json', (context) => {
    const { origin } = new URL(context.req.url);
    return context.json(openApi(origin, examplesOf(service.store, service.projectId, origin)));
  });
  addClockRoutes(app, service.clock);
  addControlRoutes(app, service, service.log);
  addEndpointRoutes(app, service);
  app.notFound(() => toResponse(service.profile.unknownPath()));
  app.onError((error, context) => {
    if (error instanceof Refusal) return context.json(error.body, error.status);
    process.stderr.write(`sandbox: ${error.stack ?? error.message}\n`);
    const detail = 'The sandbox failed; this is a fault of its own.';
    return context.json({ type: 'server_error', code: 'error', detail, attr: null }, 500);
  });
  return app;
}
