import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { chunksOf, type RawAnswer } from './fuzzed-answers.ts';

/** A server that writes its answers byte by byte as they are, whatever HTTP says. */
export type RawServer = { origin: string; answer: RawAnswer | undefined; close: () => Promise<void> };

/** Starts one on loopback. It gives each request the answer that is set. */
export async function openRawServer(): Promise<RawServer> {
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    // A request has no body, so it comes in one piece.
    socket.on('data', () => {
      if (raw.answer) void write(socket, raw.answer);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const raw: RawServer = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer: undefined,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return raw;
}

async function write(socket: Socket, answer: RawAnswer): Promise<void> {
  const { status, headers, body, end } = answer;
  // By its length: framed by chunks, framed by a length (now and then a wrong one), or by the end of the connection.
  const framing = body.length % 64;
  const length = framing === 7 ? body.length + 3 : framing === 6 ? Math.max(0, body.length - 3) : body.length;
  const isChunked = framing < 3 || framing > 40;
  const frame = isChunked
    ? 'transfer-encoding: chunked'
    : framing === 3
      ? 'connection: close'
      : `content-length: ${length}`;
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  const early = framing === 5 ? 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n' : '';
  socket.write(`${early}HTTP/1.1 ${status} Any\r\n${[...lines, frame].join('\r\n')}\r\n\r\n`, 'latin1');
  for (const chunk of chunksOf(answer)) {
    if (socket.destroyed) return;
    const framed = isChunked ? [`${chunk.length.toString(16)}\r\n`, chunk, '\r\n'] : [chunk];
    let isRoom = true;
    for (const piece of framed) isRoom = socket.write(piece);
    if (!isRoom) await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => undefined);
  }
  if (end === 'torn') socket.destroy();
  else if (isChunked) socket.write('0\r\n\r\n');
  else if (framing === 3) socket.end();
}
