import type { Hono } from 'hono';
import { z } from 'zod';
import { isoTime } from '../../core/clock.ts';
import { isoToMicros } from '../../core/time.ts';
import { act, Action } from '../actions.ts';
import type { RequestLog } from './traffic.ts';
import type { SandboxClock } from '../sandbox-clock.ts';
import type { Truth } from '../store/truth.ts';
import { Refusal } from './answer.ts';
import { checkInput, readJsonBody } from './check-input.ts';
import type { Environment, Service } from './endpoint-routes.ts';

const ClockMove = z.union([z.strictObject({ now: z.string() }), z.strictObject({ advanceSeconds: z.number().min(0) })]);

const lastTimeMs = Date.UTC(9999, 11, 31);

/** `GET` and `POST /__sandbox/clock`: read the service's time, and move it forward. The document does not have them. */
export function addClockRoutes(app: Hono<Environment>, clock: SandboxClock): void {
  app.get('/__sandbox/clock', (context) => context.json({ now: isoTime(clock.now()) }));
  app.post('/__sandbox/clock', async (context) => {
    const move = checkInput(ClockMove, await readJsonBody(context.req.raw));
    const batches = clock.moveTo(targetMs(move, clock.now()));
    if (!batches) throw new Refusal('invalidInput', 'The clock never goes backwards.', 'now');
    return context.json({ now: isoTime(clock.now()), batches: batches.map(isoTime) });
  });
}

function targetMs(move: z.infer<typeof ClockMove>, nowMs: number): number {
  const ms =
    'now' in move ? Number((isoToMicros(move.now) ?? -1n) / 1000n) : nowMs + Math.round(move.advanceSeconds * 1000);
  if (ms >= 0 && ms <= lastTimeMs) return ms;
  throw new Refusal('invalidInput', 'Not an ISO 8601 date-time between now and the year 9999.', Object.keys(move)[0]);
}

/** `/__sandbox/requests`, `/truth` and `/act`: the requests so far, the real data, and a way to change them. */
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
 * The first and the last line hold the version: if they are equal, nothing changed while the lines were read. Between
 * them stand the living persons, then the deleted and merged ones.
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
