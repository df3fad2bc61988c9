import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

type Sent = { resourceSpans: { scopeSpans: { spans: Record<string, unknown>[] }[] }[] };

/** A collector on this machine that answers with a status, and what was sent to it. */
export async function collector(status = 200) {
  const bodies: Sent[] = [];
  const headers: Record<string, unknown>[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    bodies.push(JSON.parse(await text(request)) as Sent);
    headers.push({ ...request.headers, path: request.url });
    response.writeHead(status).end('{}');
  };
  const server = createServer((request, response) => void take(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const spans = () => bodies.flatMap((body) => body.resourceSpans[0]?.scopeSpans[0]?.spans ?? []);
  return { url, bodies, headers, spans };
}
