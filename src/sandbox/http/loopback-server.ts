import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { AppError } from '../../core/errors.ts';

/** A server that listens on this machine only. */
export type LoopbackServer = {
  /** Without a trailing slash. */
  url: string;
  /** Takes no new request, lets requests under way end, and resolves when every connection is closed. */
  close(): Promise<void>;
};

/** The time of an answer to a request, in milliseconds since 1970; undefined where none is given. */
export type DateOfAnswer = (method: string, path: string) => number | undefined;

const host = '127.0.0.1';
const drainMs = 2_000;

/**
 * Serves on 127.0.0.1; port 0 takes any free port. The `Date` of every answer is what `dateOf` gives. Rejects with
 * `usage` if it cannot listen on the port.
 */
export async function listenOnLoopback(
  port: number,
  fetch: (request: Request, bindings: HttpBindings) => Response | Promise<Response>,
  dateOf: (...about: Parameters<DateOfAnswer>) => number,
): Promise<LoopbackServer> {
  // The globals stay as they are: the sandbox also runs inside other programs and tests.
  const respond = getRequestListener((request, bindings) => fetch(request, bindings as HttpBindings), {
    overrideGlobalObjects: false,
  });
  const server = createServer((request, response) => {
    response.setHeader('Date', new Date(dateOf(request.method ?? '', request.url ?? '')).toUTCString());
    void respond(request, response);
  });
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (cause) {
    throw new AppError(`the sandbox cannot listen on ${host}:${port}`, {
      code: 'usage',
      hint: 'Choose another port, or 0 for any that is free.',
      cause,
    });
  }
  const address = server.address() as AddressInfo;
  return { url: `http://${host}:${address.port}`, close: () => closeServer(server) };
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  const deadline = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed;
  clearTimeout(deadline);
}
