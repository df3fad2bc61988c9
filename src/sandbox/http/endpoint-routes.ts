import type { HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import type { Conditions } from '../actions.ts';
import type { SandboxClock } from '../sandbox-clock.ts';
import type { Store } from '../store/store.ts';
import { type Answer, notFound, Refusal } from './answer.ts';
import { authenticate, requireScope } from './authorize.ts';
import { checkInput, readJsonBody } from './check-input.ts';
import type { Profile, Route } from './profile.ts';
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

/** Registers every route of the profile under each of its prefixes. */
export function addEndpointRoutes(app: Hono<Environment>, service: Service): void {
  const { pathPrefixes, routes } = service.profile;
  for (const prefix of pathPrefixes) {
    const methods = new Map<string, string[]>();
    for (const route of routes) {
      const { method, status } = route.row;
      const path = `${prefix}/:project_id${route.row.path}`;
      const allowed = methods.get(path) ?? [];
      // A method whose documented answer is 405 is not allowed.
      if (status !== 405) allowed.push(method);
      methods.set(path, allowed);
      app.on(method, path, (context) =>
        service.traffic.pass(context, route, () => answer(context, route, allowed, service)),
      );
    }
    for (const [path, allowed] of methods) {
      app.all(path, ({ req, header }) => {
        header('Allow', allowed.join(', '));
        throw new Refusal('methodNotAllowed', `Method "${req.method}" not allowed.`);
      });
    }
  }
}

async function answer(
  { req }: Context,
  { row, handle }: Route,
  allowed: readonly string[],
  { store, clock, projectId, conditions }: Service,
): Promise<Answer> {
  const apiKey = authenticate(req.header('Authorization'), store.apiKeys);
  requireScope(apiKey, row.scope);
  if (conditions.projectVanished || req.param('project_id') !== projectId) throw notFound();
  const input = {
    params: checkInput(row.params, req.param()),
    query: checkInput(row.query, req.query()),
    body: row.body && checkInput(row.body, await readJsonBody(req.raw)),
  };
  const change = { userId: apiKey.userId, atMs: clock.now() };
  const content = handle(input, { store, change, url: new URL(req.url) });
  const headers: Record<string, string> = {};
  if (row.status === 405) headers['Allow'] = allowed.join(', ');
  if (content) headers['Content-Type'] = content.type;
  // Without a length, a 200 without a body would be sent as an empty stream of chunks.
  else if (row.status !== 204) headers['Content-Length'] = '0';
  return { status: row.status, headers, body: content?.text ?? '' };
}
