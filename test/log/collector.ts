import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

type Sent = {
  resourceSpans: {
    resource: { attributes: { key: string; value: unknown }[] };
    scopeSpans: { spans: Record<string, unknown>[] }[];
  }[];
};

/** A collector on this machine that answers with a status or not at all, and what was sent to it. */
export async function collector(status: number | 'silent' = 200) {
  const raw: Buffer[] = [];
  const bodies: Sent[] = [];
  const headers: Record<string, unknown>[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request);
    raw.push(body);
    headers.push({ ...request.headers, path: request.url });
    if (request.headers['content-type'] === 'application/json') bodies.push(JSON.parse(body.toString()) as Sent);
    if (status !== 'silent') response.writeHead(status).end();
  };
  const server = createServer((request, response) => void take(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const spans = () => bodies.flatMap((body) => body.resourceSpans[0]?.scopeSpans[0]?.spans ?? []);
  return { url, raw, bodies, headers, spans };
}
