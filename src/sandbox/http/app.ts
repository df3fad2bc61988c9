import { Hono } from 'hono';
import type { RequestLog } from '../request-log.ts';
import { apiPage, apiPageHeaders } from './api-page.ts';
import { addClockRoutes, addControlRoutes } from './control-routes.ts';
import { addEndpointRoutes, type Environment, type Service } from './endpoint-routes.ts';
import { openApi } from './openapi.ts';
import { notFound, Refusal } from './answer.ts';

/** The service over HTTP: its endpoints, `/`, `/openapi.json`, and the sandbox's own under `/__sandbox`. */
export function createApp(service: Service & { apiKey: string; log: RequestLog }): Hono<Environment> {
  // Not strict: every path answers with and without a trailing slash.
  const app = new Hono<Environment>({ strict: false });
  app.get('/', (context) => {
    const { origin } = new URL(context.req.url);
    const [playlist] = service.store.playlists.shortIds();
    return context.html(apiPage({ ...service, origin, playlist }), 200, apiPageHeaders);
  });
  app.get('/openapi.json', (context) => context.json(openApi(new URL(context.req.url).origin)));
  addClockRoutes(app, service.clock);
  addControlRoutes(app, service, service.log);
  addEndpointRoutes(app, service);
  app.notFound(() => {
    throw notFound();
  });
  app.onError((error, context) => {
    if (error instanceof Refusal) return context.json(error.body, error.status);
    process.stderr.write(`sandbox: ${error.stack ?? error.message}\n`);
    const detail = 'The sandbox failed; this is a fault of its own.';
    return context.json({ type: 'server_error', code: 'error', detail, attr: null }, 500);
  });
  return app;
}
