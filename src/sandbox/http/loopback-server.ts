import { createServer } from 'node:http';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { listen, type Listening } from '../../core/listening.ts';

/** The time of an answer to a request, in milliseconds since 1970; undefined where none is given. */
export type DateOfAnswer = (method: string, path: string) => number | undefined;

/**
 * Serves on 127.0.0.1; port 0 takes any free port. The `Date` of every answer is what `dateOf` gives. Rejects with
 * `usage` if it cannot listen on the port.
 */
export async function listenOnLoopback(
  port: number,
  fetch: (request: Request, bindings: HttpBindings) => Response | Promise<Response>,
  dateOf: (...about: Parameters<DateOfAnswer>) => number,
): Promise<Listening> {
  // The globals stay as they are: the sandbox also runs inside other programs and tests.
  const respond = getRequestListener((request, bindings) => fetch(request, bindings as HttpBindings), {
    overrideGlobalObjects: false,
  });
  const server = createServer((request, response) => {
    response.setHeader('Date', new Date(dateOf(request.method ?? '', request.url ?? '')).toUTCString());
    void respond(request, response);
  });
  return listen(server, { host: '127.0.0.1', port, what: 'the sandbox', setting: null });
}
