import type { Context, Hono } from 'hono';
import { documentedPathPrefix, endpointNames, endpoints, type Endpoint } from '../../contract/endpoints.ts';
import type { SandboxClock } from '../sandbox-clock.ts';
import type { Store } from '../store/store.ts';
import { authenticate, requireScope } from './authorize.ts';
import { checkInput, readJsonBody } from './check-input.ts';
import type { AnyHandler } from './endpoint-handler.ts';
import { endpointHandlers } from './endpoint-handlers.ts';
import { notFound, Refusal } from './refusal.ts';

/** What the routes serve. */
export type Service = { store: Store; clock: SandboxClock; projectId: string };

/** Registers every endpoint of the table: its checks come from its row, its work from its handler. */
export function addEndpointRoutes(app: Hono, service: Service): void {
  const methods = new Map<string, string[]>();
  for (const name of endpointNames) {
    const endpoint: Endpoint = endpoints[name];
    const path = `${documentedPathPrefix}/:project_id${endpoint.path}`;
    const handler = endpointHandlers[name] as AnyHandler;
    const allowed = methods.get(path) ?? [];
    // A method whose documented answer is 405 is not an allowed one.
    if (endpoint.status !== 405) allowed.push(endpoint.method);
    methods.set(path, allowed);
    app.on(endpoint.method, path, async (context) => answer(context, endpoint, handler, allowed, service));
  }
  for (const [path, allowed] of methods) {
    app.all(path, ({ req, header }) => {
      header('Allow', allowed.join(', '));
      throw new Refusal('methodNotAllowed', `Method "${req.method}" not allowed.`);
    });
  }
}

async function answer(
  context: Context,
  endpoint: Endpoint,
  handler: AnyHandler,
  allowed: readonly string[],
  { store, clock, projectId }: Service,
): Promise<Response> {
  const { req } = context;
  const apiKey = authenticate(req.header('Authorization'), store.apiKeys);
  requireScope(apiKey, endpoint.scope);
  if (req.param('project_id') !== projectId) throw notFound();
  const input = {
    params: checkInput(endpoint.params, req.param()),
    query: checkInput(endpoint.query, req.query()),
    body: endpoint.body && checkInput(endpoint.body, await readJsonBody(req.raw)),
  };
  const change = { userId: apiKey.userId, atMs: clock.now() };
  const content = handler(input, { store, change, url: new URL(req.url) });
  const headers = new Headers();
  if (endpoint.status === 405) headers.set('Allow', allowed.join(', '));
  if (content) headers.set('Content-Type', content.type);
  // Without a length, a 200 without a body would be sent as an empty stream of chunks.
  else if (endpoint.status !== 204) headers.set('Content-Length', '0');
  return new Response(content?.text ?? null, { status: endpoint.status, headers });
}
