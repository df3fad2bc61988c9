import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Clock } from '../core/clock.ts';
import { refuseOpenAccess } from './access.ts';
import { guardConnections } from './connections.ts';
import { listen, type Listening } from '../core/listening.ts';
import { statusRoutes, type RouteParts } from './routes.ts';

/** The sources of the answers, and the port to listen on; 0 takes any free port. */
export type StatusServerParts = RouteParts & { port: number; clock: Pick<Clock, 'now'> };

/** A request has no body, so its headers are all of it. */
const headersTimeoutMs = 5_000;
/** Gathering takes 0.2 s for a million persons: at most once in this time, and for a twentieth of all time. */
const overviewKeptMs = 1_000;
const overviewShareMax = 1 / 20;

/** Serves page, metrics and probes. Throws `usage` for a taken port, and for an open host without a token. */
export async function startStatusServer(parts: StatusServerParts): Promise<Listening> {
  const { access, port, clock } = parts;
  refuseOpenAccess(access);
  const overview = kept(parts.overview, clock);
  const routes = statusRoutes({ ...parts, overview });
  const respond = getRequestListener((request) => routes.fetch(request), { overrideGlobalObjects: false });
  const server = createServer({
    headersTimeout: headersTimeoutMs,
    requestTimeout: headersTimeoutMs,
    connectionsCheckingInterval: 1_000,
  });
  server.on(
    'request',
    guardConnections(server, (request, response) => void respond(request, response)),
  );
  return listen(server, { host: access.host, port, what: 'the status page', setting: 'status' });
}

/** Resolves to the last value that was made, or makes another when that one is too old. One is made at a time. */
function kept<T>(make: () => Promise<T>, clock: Pick<Clock, 'now'>): () => Promise<T> {
  let last: { value: T; madeAtMs: number; keptMs: number } | undefined;
  let making: Promise<T> | undefined;
  const makeNext = async (nowMs: number): Promise<T> => {
    const value = await make();
    const madeAtMs = clock.now();
    last = { value, madeAtMs, keptMs: Math.max(overviewKeptMs, (madeAtMs - nowMs) / overviewShareMax) };
    return value;
  };
  return async () => {
    const nowMs = clock.now();
    // The clock may have been set back: the value must not be kept for longer then.
    if (last && Math.abs(nowMs - last.madeAtMs) < last.keptMs) return last.value;
    making ??= makeNext(nowMs).finally(() => {
      making = undefined;
    });
    return making;
  };
}
