import { connect, type Socket } from 'node:net';

// A client that opens 200 connections to a local port, misuses each, and opens it again a second after it was ended.
const port = Number(process.argv[2]);
const getsAtOnce = 'GET /icon/well.svg HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(500);
const bodyBegin = 'POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n';

const misuses: readonly [connections: number, misuse: (socket: Socket) => void][] = [
  // Headers without an end.
  [100, (socket) => void socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nX-Half: ')],
  // Many requests at once, and no answer is read.
  [40, (socket) => void socket.pause().write(getsAtOnce)],
  // One request whose answer is not read.
  [30, (socket) => void socket.pause().write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')],
  // A body without an end.
  [
    30,
    (socket) => {
      socket.write(bodyBegin);
      const timer = setInterval(() => void socket.write('4\r\nmore\r\n'), 20);
      socket.on('close', () => clearInterval(timer));
    },
  ],
];

function open(misuse: (socket: Socket) => void): void {
  const socket = connect(port, '127.0.0.1', () => misuse(socket));
  socket.on('error', () => undefined);
  socket.on('close', () => setTimeout(() => open(misuse), 1_000));
}

for (const [connections, misuse] of misuses) for (let opened = 0; opened < connections; opened += 1) open(misuse);
setTimeout(() => process.stdout.write('open'), 500);
