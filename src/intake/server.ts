import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { guardConnections } from '../status/connections.ts';
import { listen, type Listening } from '../core/listening.ts';
import { problem, type Answer } from './answer.ts';
import { intakeRoutes, type RouteParts } from './routes.ts';

/** Where the intake listens, and what its answers are made of; port 0 takes any. `onError` hears of what is answered with a 500. */
export type IntakeServerParts = RouteParts & { host: string; port: number; onError: (error: unknown) => void };

/** A body has 64 kB at most, so the whole call is read in this time, or ends. */
const callTimeoutMs = 5_000;
const headerBytesMax = 8_192;

/** Serves the intake. Throws `usage` for a taken port. */
export async function startIntakeServer(parts: IntakeServerParts): Promise<Listening> {
  const { host, port, onError } = parts;
  const answerCall = intakeRoutes(parts);
  const server = createServer({
    headersTimeout: callTimeoutMs,
    requestTimeout: callTimeoutMs,
    keepAliveTimeout: callTimeoutMs,
    connectionsCheckingInterval: 500,
    maxHeaderSize: headerBytesMax,
  });
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const answer = await answerCall({
      method: request.method ?? '',
      path: (request.url ?? '').replace(/\?.*$/s, ''),
      // A header that stands twice is joined or dropped by Node, in a way that senders do not know: it counts for nothing.
      header: (name) => (request.headersDistinct[name]?.length === 1 ? request.headersDistinct[name][0] : undefined),
      readBody: (bytesMax) => readBody(request, bytesMax),
    }).catch((error: unknown) => {
      if (!request.complete) return problem('not_json', {}, true);
      onError(error);
      return problem('failed');
    });
    send(response, answer);
  };
  server.on(
    'request',
    guardConnections(server, (request, response) => void respond(request, response), 'with bodies'),
  );
  return listen(server, { host, port, what: 'the intake', setting: 'intake' });
}

function send(response: ServerResponse, { status, body, headers = {}, closes = false }: Answer): void {
  if (response.destroyed) return;
  if (closes) response.on('finish', () => response.socket?.destroySoon());
  response
    .writeHead(status, {
      'Content-Type': 'application/json',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      ...headers,
      'Content-Length': Buffer.byteLength(body),
      ...(closes ? { Connection: 'close' } : {}),
    })
    .end(body);
}

/** Reads a body of at most so many bytes; undefined for a longer one. Rejects where the sender ends first. */
async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return undefined;
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    bytes += (part as Buffer).length;
    if (bytes > bytesMax) return undefined;
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts);
}
