import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** Answers a request. What it returns is of no interest. */
export type Answerer = (request: IncomingMessage, response: ServerResponse) => unknown;

/** A real HTTP server on a free loopback port, with all its connections closed when the test has ended. */
export async function localServer(answer: Answerer): Promise<{ origin: string; server: Server }> {
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

/** The body of a request. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  return (await request.toArray()).join('');
}
