import type { IncomingMessage } from 'node:http';
import { bodyOf, localServer } from '../client/local-server.ts';

/** A table in a catalog. */
type Entry = { 'metadata-location': string; metadata: { 'table-uuid': string; location: string } };

/** A small Iceberg REST catalog in this process. It reads no file, so `uuidOf` says which table a location is. */
export async function startCatalog({
  knowsOverwrite = true,
  prefix,
}: { knowsOverwrite?: boolean; prefix?: string } = {}) {
  const catalog = {
    uri: '',
    namespaces: new Set<string>(),
    tables: new Map<string, Entry>(),
    /** Each request: method and path. */
    asked: [] as string[],
    tokens: new Set<string | undefined>(),
    /** Judges each request: a status instead of the true answer, no answer, or a failure with these words. */
    fault: (_asked: string): number | string | undefined => undefined,
    /** Whether a request is signed by one who may ask: else 403 is the answer. */
    judgeSignature: (_request: IncomingMessage, _body: string): boolean => true,
    uuidOf: (_location: string): string => '00000000-0000-4000-8000-000000000001',
  };
  const judge = (
    method: string,
    path: readonly string[],
    body: Record<string, unknown>,
  ): [status: number, value?: unknown] => {
    const root = ['v1', ...(prefix === undefined ? [] : [prefix]), 'namespaces'];
    if (path[1] === 'config') return [200, { defaults: {}, overrides: prefix === undefined ? {} : { prefix } }];
    if (root.some((part, index) => path[index] !== part)) return [400];
    const [namespace, kind, table = ''] = path.slice(root.length);
    if (namespace === undefined) {
      catalog.namespaces.add((body['namespace'] as string[]).join('\u001F'));
      return [200, {}];
    }
    if (!catalog.namespaces.has(namespace)) return [404, {}];
    if (kind === 'register') {
      const [name, location] = [String(body['name']), String(body['metadata-location'])];
      if (catalog.tables.has(name) && !(knowsOverwrite && body['overwrite'] === true)) return [409, {}];
      const metadata = { 'table-uuid': catalog.uuidOf(location), location: location.replace(/\/metadata\/.*/, '') };
      catalog.tables.set(name, { 'metadata-location': location, metadata });
      return [200, catalog.tables.get(name)];
    }
    const entry = catalog.tables.get(table);
    if (!entry) return [404, {}];
    if (method === 'DELETE') catalog.tables.delete(table);
    return method === 'DELETE' ? [204] : [200, entry];
  };
  const { origin } = await localServer(async (request, response) => {
    const text = await bodyOf(request);
    const asked = `${request.method} ${request.url}`;
    catalog.asked.push(asked);
    catalog.tokens.add(request.headers.authorization);
    const fault = catalog.judgeSignature(request, text) ? catalog.fault(asked) : 403;
    if (fault === 'cut') return request.socket.destroy();
    const path = (request.url ?? '').replace(/\?.*/, '').split('/').slice(2).map(decodeURIComponent);
    const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
    const [status, value] =
      fault === undefined
        ? judge(request.method ?? '', path, body)
        : typeof fault === 'string'
          ? [500, { error: { message: fault } }]
          : [fault, { error: 'secret words' }];
    response.writeHead(status, { 'content-type': 'application/json' });
    return response.end(value === undefined ? undefined : JSON.stringify(value));
  });
  catalog.uri = `${origin}/iceberg`;
  return catalog;
}
