import type { HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import type { Conditions } from '../actions.ts';
import type { SandboxClock } from '../sandbox-clock.ts';
import type { Store } from '../store/store.ts';
import { type Answer, notFound, Refusal } from './answer.ts';
import { authenticate, requireScope } from './authorize.ts';
import { checkInput, readJsonBody } from './check-input.ts';
import { pathOf, type Profile, type Route } from './profile.ts';
import type { Traffic } from './traffic.ts';

/** What the routes serve, and how. */
export type Service = {
  store: Store;
  clock: SandboxClock;
  projectId: string;
  profile: Profile;
  conditions: Conditions;
  traffic: Traffic;
};

/** The application's environment: Node's own request and response. */
export type Environment = { Bindings: HttpBindings };

/** Registers every route of the profile, under each of its prefixes. OPTIONS is answered to everyone, with `Allow`. */
export function addEndpointRoutes(app: Hono<Environment>, service: Service): void {
  const { pathPrefixes, routes } = service.profile;
  for (const prefix of pathPrefixes)
    app.use(`${prefix}/*`, async ({ header }, next) => {
      await next();
      for (const [name, value] of Object.entries(service.profile.headersBelow(prefix))) header(name, value);
    });
  const placed = pathPrefixes.flatMap((prefix) => routes.map((route) => ({ path: pathOf(prefix, route.row), route })));
  for (const [path, there] of Map.groupBy(placed, (one) => one.path)) {
    const methodsOf = (rows: readonly Route['row'][]): string =>
      [...new Set([...rows.map(({ method }) => method), 'OPTIONS'])].join(', ');
    const rows = there.map(({ route }) => route.row);
    // A method whose documented answer is 405 is not allowed, though OPTIONS names it: it is documented.
    const allowed = methodsOf(rows.filter(({ status }) => status !== 405));
    for (const { route } of there)
      app.on(route.row.method, path, (context) =>
        service.traffic.pass(context, route, () => answer(context, route, allowed, service)),
      );
    app.options(path, (context) => context.body(null, 204, { Allow: methodsOf(rows) }));
    app.all(path, ({ req, header }) => {
      header('Allow', allowed);
      throw new Refusal('methodNotAllowed', `Method "${req.method}" not allowed.`);
    });
  }
}

async function answer(
  { req }: Context,
  { row, handle }: Route,
  allowed: string,
  { store, clock, projectId, conditions, profile }: Service,
): Promise<Answer> {
  const apiKey = authenticate(req.header('Authorization'), store.apiKeys);
  requireScope(apiKey, row.scope);
  profile.admit(row);
  const projects = conditions.projectVanished ? [] : [{ id: projectId, name: 'Sandbox' }];
  if (!row.isOutsideProjects && !projects.some(({ id }) => id === req.param('project_id'))) throw notFound();
  const input = {
    params: checkInput(row.params, req.param()),
    query: checkInput(row.query, req.query()),
    body: row.body && checkInput(row.body, await readJsonBody(req.raw)),
  };
  const change = { userId: apiKey.userId, atMs: clock.now() };
  const content = handle(input, { store, change, url: new URL(req.url), projects });
  const headers: Record<string, string> = {};
  if (row.status === 405) headers['Allow'] = allowed;
  if (content) headers['Content-Type'] = content.type;
  // Without a length, a 200 without a body would be sent as an empty stream of chunks.
  else if (row.status !== 204) headers['Content-Length'] = '0';
  return { status: row.status, headers, body: content?.text ?? '' };
}
