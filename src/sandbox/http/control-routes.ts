import type { Hono } from 'hono';
import { act, Action } from '../actions.ts';
import type { RequestLog } from '../request-log.ts';
import type { Truth } from '../store/truth.ts';
import { checkInput, readJsonBody } from './check-input.ts';
import type { Environment, Service } from './endpoint-routes.ts';

/** `/__sandbox/requests`, `/truth` and `/act`: what was asked, what is really there, and a hand in it. */
export function addControlRoutes(app: Hono<Environment>, service: Service, log: RequestLog): void {
  app.get('/__sandbox/requests', (context) => context.json({ requests: log.all() }));
  app.delete('/__sandbox/requests', (context) => {
    log.clear();
    return context.body(null, 204);
  });
  app.get('/__sandbox/truth', () => {
    const body = ReadableStream.from(ndjson(service.store.truth));
    return new Response(body, { headers: { 'Content-Type': 'application/x-ndjson' } });
  });
  app.post('/__sandbox/act', async (context) => {
    const action = checkInput(Action, await readJsonBody(context.req.raw));
    return context.json(act(service.store, service, action));
  });
}

const linesAtOnce = 200;

/**
 * First and last the version: equal ones say that nothing changed while this was read. Between them the living, then
 * the gone.
 */
function* ndjson(truth: Truth): Generator<Uint8Array> {
  let lines: string[] = [];
  for (const row of withVersions(truth)) {
    lines.push(`${JSON.stringify(row)}\n`);
    if (lines.length < linesAtOnce) continue;
    yield Buffer.from(lines.join(''));
    lines = [];
  }
  yield Buffer.from(lines.join(''));
}

function* withVersions(truth: Truth): Generator<object> {
  yield { state: 'version', version: truth.version() };
  yield* truth.living();
  yield* truth.gone();
  yield { state: 'version', version: truth.version() };
}
