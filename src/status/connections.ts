import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Many more connections than browsers and collectors of metrics need. */
const connectionsMax = 256;
/** How long an answer may wait to be read. */
const answerMsMax = 10_000;

/**
 * Keeps connections from holding a server: one above the most ends the oldest, of those that wait for no answer first. A
 * connection ends when it sends a second request before the first is answered, or reads its answer too slowly; where no bodies are
 * wanted, when it sends one. Returns the listener of requests.
 */
export function guardConnections(
  server: Server,
  respond: (request: IncomingMessage, response: ServerResponse) => void,
  wanted: 'without bodies' | 'with bodies' = 'without bodies',
): (request: IncomingMessage, response: ServerResponse) => void {
  /** Each connection in the order of their beginning, with the answer that it waits for. */
  const answers = new Map<Socket, ServerResponse | null>();
  server.on('connection', (socket: Socket) => {
    answers.set(socket, null);
    socket.on('close', () => answers.delete(socket));
    if (answers.size > connectionsMax) oldestOf(answers)?.destroy();
  });
  return (request, response) => {
    const { socket } = request;
    // The rest of the same packet comes here too, although the connection was ended.
    if (socket.destroyed) return;
    if (answers.get(socket)) {
      socket.destroy();
      return;
    }
    answers.set(socket, response);
    const deadline = setTimeout(() => socket.destroy(), answerMsMax);
    response.on('close', () => {
      clearTimeout(deadline);
      if (answers.has(socket)) answers.set(socket, null);
    });
    if (wanted === 'without bodies' && hasBody(request)) {
      response.on('finish', () => socket.destroy());
      response.writeHead(413, { Connection: 'close' }).end('no request has a body here\n');
    } else respond(request, response);
  };
}

function oldestOf(answers: ReadonlyMap<Socket, ServerResponse | null>): Socket | undefined {
  const sockets = [...answers];
  const [oldest] = sockets.find(([, answer]) => answer === null) ?? sockets[0] ?? [];
  return oldest;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
}
