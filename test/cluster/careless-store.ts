import { buffer } from 'node:stream/consumers';
import { localServer } from '../client/local-server.ts';

/** What a store does not look at. */
export type Ignored = 'if-match' | 'if-none-match';

/** A store that keeps what is put, whatever some conditions say: its address, and the paths that were put, in order. */
export async function startCarelessStore(ignored: readonly Ignored[]): Promise<{ endpoint: string; puts: string[] }> {
  const standing = new Map<string, { etag: string; bytes: Buffer }>();
  const puts: string[] = [];
  const { origin } = await localServer(async (request, response) => {
    const path = (request.url ?? '').replace(/\?.*/, '');
    const bytes = await buffer(request);
    const found = standing.get(path);
    const wanted = (name: Ignored): string | undefined => (ignored.includes(name) ? undefined : request.headers[name]);
    const match = wanted('if-match');
    const isRefused =
      (match !== undefined && match !== found?.etag) || (wanted('if-none-match') !== undefined && found);
    if (request.method === 'PUT') {
      if (isRefused) return response.writeHead(412).end();
      const etag = `"${puts.length}"`;
      standing.set(path, { etag, bytes });
      puts.push(path);
      return response.writeHead(200, { etag }).end();
    }
    if (!found) return response.writeHead(404).end();
    return response.writeHead(200, { etag: found.etag }).end(request.method === 'HEAD' ? undefined : found.bytes);
  });
  return { endpoint: origin, puts };
}
