import { buffer } from 'node:stream/consumers';
import { localServer } from '../client/local-server.ts';

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
  const { origin: url } = await localServer(async (request, response) => {
    const body = await buffer(request);
    raw.push(body);
    headers.push({ ...request.headers, path: request.url });
    if (request.headers['content-type'] === 'application/json') bodies.push(JSON.parse(body.toString()) as Sent);
    if (status !== 'silent') response.writeHead(status).end();
  });
  const spans = () => bodies.flatMap((body) => body.resourceSpans[0]?.scopeSpans[0]?.spans ?? []);
  return { url, raw, bodies, headers, spans };
}
