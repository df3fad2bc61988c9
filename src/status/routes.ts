import { Hono, type Context } from 'hono';
import { sha256 } from '../core/digest.ts';
import { isAuthorized, isHostAllowed, type AccessRules } from './access.ts';
import { metricsText, metricsType } from './metrics.ts';
import type { Overview } from './overview.ts';
import { pagePolicy, statusPage, tabIcon } from './status-page.ts';
import { readinessOf } from './verdict.ts';

/** The sources of the answers. */
export type RouteParts = {
  access: AccessRules;
  /** Resolves to the present state of all projects. */
  overview: () => Promise<Overview>;
  /** Resolves to the process's own metrics, or to nothing while a job computes. */
  processMetrics: () => Promise<string>;
  /** The certificate of an ended request of a project, as JSON; undefined where there is none. */
  certificateOf: (project: string, request: string) => string | undefined;
  /** How long ago the thread that works the jobs was last heard of, in milliseconds. */
  silentMs: () => number;
  /** Hears of an error that is answered with a 500. */
  onError: (error: unknown) => void;
};

const securityHeaders = {
  'Content-Security-Policy': pagePolicy,
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};

/** No statement of a job takes so long. */
const silentMsMax = 3_600_000;
/** A page that shows the same is made anew after so long: its ages have grown. */
const sameForMs = 30_000;

/** The routes of the status server. `/healthz` and `/readyz` ask for no host name or token, and give no reason. */
export function statusRoutes(parts: RouteParts): Hono {
  const { access, overview, onError } = parts;
  const app = new Hono();
  const pageOf = onceOf(statusPage);
  const jsonOf = onceOf((state: Overview) => JSON.stringify(state));
  const tagOf = onceOf(({ at, ...rest }: Overview) => {
    const span = Math.floor(Date.parse(at) / sameForMs);
    return `"${sha256(JSON.stringify([span, rest])).slice(0, 16)}"`;
  });
  /** Answers with the page, unless the reader has it as it is. */
  const showPage = ({ req, header, html, body }: Context, state: Overview): Response | Promise<Response> => {
    header('ETag', tagOf(state));
    return req.header('If-None-Match') === tagOf(state) ? body(null, 304) : html(pageOf(state));
  };

  // First, so that refusals and errors have the headers too.
  app.use(async (context, next) => {
    await next();
    for (const [name, value] of Object.entries(securityHeaders)) context.res.headers.set(name, value);
  });
  app.use(async ({ req, text, header }, next) => {
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      header('Allow', 'GET, HEAD');
      return text('only GET\n', 405);
    }
    await next();
    return undefined;
  });

  app.get('/healthz', ({ text }) =>
    parts.silentMs() < silentMsMax ? text('alive\n') : text('no job was heard of for an hour\n', 503),
  );
  app.get('/readyz', async ({ req, text, json }) => {
    const readiness = readinessOf(await overview());
    const status = readiness.ready ? 200 : 503;
    if (isHostAllowed(req.header('Host'), access) && isAuthorized(req.header('Authorization'), access.token))
      return json(readiness, status);
    return text(readiness.ready ? 'ready\n' : 'not ready\n', status);
  });

  app.use(async ({ req, text, header }, next) => {
    if (!isHostAllowed(req.header('Host'), access))
      return text('this server does not answer to this name; see the setting status.allowedHosts\n', 421);
    if (!isAuthorized(req.header('Authorization'), access.token)) {
      header('WWW-Authenticate', 'Basic realm="analytics-mirror", charset="UTF-8"');
      return text('the password is the token of the status page; the user name can be any\n', 401);
    }
    await next();
    return undefined;
  });

  app.get('/', async (context) => showPage(context, await overview()));
  app.get('/project/:name', async (context) => {
    const state = await overview();
    const projects = state.projects.filter(({ name }) => name === context.req.param('name'));
    return projects.length === 0 ? context.notFound() : showPage(context, { ...state, projects });
  });
  app.get('/certificate/:project/:request', ({ req, body, notFound }) => {
    const certificate = parts.certificateOf(req.param('project'), req.param('request'));
    return certificate === undefined ? notFound() : body(certificate, 200, { 'Content-Type': 'application/json' });
  });
  app.get('/status.json', async ({ body }) =>
    body(jsonOf(await overview()), 200, { 'Content-Type': 'application/json' }),
  );
  app.get('/metrics', async ({ body }) =>
    body(`${await metricsText(await overview())}${await parts.processMetrics()}`, 200, { 'Content-Type': metricsType }),
  );
  app.get('/icon/:name{[a-z]+\\.svg}', ({ req, body, notFound }) => {
    const picture = tabIcon(req.param('name').replace('.svg', ''));
    return picture === undefined ? notFound() : body(picture, 200, { 'Content-Type': 'image/svg+xml' });
  });
  app.notFound(({ text }) => text('this page does not exist; / is the status page\n', 404));
  app.onError((error, { text }) => {
    onError(error);
    return text('this failed; the log says why\n', 500);
  });
  return app;
}

/** Makes a text of an overview once, however many ask for it. */
function onceOf(make: (overview: Overview) => string): (overview: Overview) => string {
  const made = new WeakMap<Overview, string>();
  return (overview) => {
    const text = made.get(overview) ?? make(overview);
    made.set(overview, text);
    return text;
  };
}
