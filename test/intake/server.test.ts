import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { startIntakeServer } from '../../src/intake/server.ts';
import { callIntake, deskKey, eraseBody, openIntakeWorld, senderOf, type IntakeWorld } from './intake-world.ts';

/** A connection that writes what it is told, and what it reads until it is ended. */
async function openSocket(world: IntakeWorld, text = ''): Promise<{ socket: Socket; ended: Promise<string> }> {
  const socket = connect(Number(new URL(world.url()).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  let read = '';
  socket.setEncoding('utf8').on('data', (part: string) => (read += part));
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  socket.on('close', () => resolve(read));
  await new Promise<void>((connected) => socket.on('connect', () => connected()));
  if (text !== '') socket.write(text);
  return { socket, ended };
}

const head = (more: string): string =>
  `POST /v1/requests HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${deskKey}\r\nContent-Type: application/json\r\nIdempotency-Key: ${randomUUID()}\r\n${more}\r\n`;

it('headers that do not end, and bodies that do not, end their connection; others are answered meanwhile', async () => {
  const world = await openIntakeWorld();
  const slow = await Promise.all([
    ...Array.from({ length: 100 }, () => openSocket(world, 'POST /v1/requests HTTP/1.1\r\nHost: x\r\nX-Slow: ')),
    ...Array.from({ length: 100 }, () => openSocket(world, `${head('Content-Length: 100\r\n')}{"type"`)),
  ]);
  const beganMs = performance.now();
  expect((await world.post(eraseBody('ann@canary.example'))).status).toBe(201);
  expect(performance.now() - beganMs).toBeLessThan(1_000);
  const answers = await Promise.all(slow.map(({ ended }) => ended));
  expect(performance.now() - beganMs).toBeLessThan(9_000);
  for (const answer of answers) expect(answer === '' || answer.startsWith('HTTP/1.1 408 ')).toBe(true);
}, 20_000);

it('more connections than there is room for end the oldest, and whoever comes is answered', async () => {
  const world = await openIntakeWorld();
  const sockets: Awaited<ReturnType<typeof openSocket>>[] = [];
  for (let count = 0; count < 300; count += 1) sockets.push(await openSocket(world));
  expect((await world.post(eraseBody('ann@canary.example'))).status).toBe(201);
  await vi.waitFor(() => expect(sockets.filter(({ socket }) => socket.closed).length).toBeGreaterThan(40));
});

it.for([
  ['giant headers', head(`X-Giant: ${'a'.repeat(9_000)}\r\n`), /^HTTP\/1\.1 431 /],
  ['a body that is announced as giant', `${head('Content-Length: 1000000000\r\n')}{`, /^HTTP\/1\.1 413 /],
  [
    'a body in chunks that does not stop',
    `${head('Transfer-Encoding: chunked\r\n')}${`2000\r\n${' '.repeat(0x2000)}\r\n`.repeat(10)}`,
    /^HTTP\/1\.1 413 /,
  ],
  ['two lengths', `${head('Content-Length: 2\r\nContent-Length: 3\r\n')}{}`, /^HTTP\/1\.1 400 /],
  ['a length and chunks', `${head('Content-Length: 2\r\nTransfer-Encoding: chunked\r\n')}{}`, /^HTTP\/1\.1 400 /],
  ['another version', 'POST /v1/requests HTTP/3.0\r\n\r\n', /^HTTP\/1\.1 400 /],
  ['a key that stands twice', head(`Content-Length: 2\r\nAuthorization: Bearer ${deskKey}\r\n`), /^HTTP\/1\.1 401 /],
  [
    'an idempotency key that stands twice',
    head(`Content-Length: 2\r\nIdempotency-Key: ${randomUUID()}\r\n`),
    /^HTTP\/1\.1 400 /,
  ],
] as const)('%s end the connection with an answer', async ([, text, answer]) => {
  const world = await openIntakeWorld();
  const { ended } = await openSocket(world, text);
  expect(await ended).toMatch(answer);
});

it('a second call on a connection, sent before the first is answered, ends it', async () => {
  const world = await openIntakeWorld();
  const call = `GET /v1/requests/${randomUUID()} HTTP/1.1\r\nHost: x\r\n\r\n`;
  const { ended } = await openSocket(world, call + call);
  expect((await ended).match(/HTTP\/1\.1/g)?.length ?? 0).toBeLessThan(2);
});

it('where nothing is heard of the ledger, a call is answered all the same, within a second', async () => {
  const server = await startIntakeServer({
    host: '127.0.0.1',
    port: 0,
    senders: [senderOf()],
    businessId: null,
    tokens: new Map(),
    nowMs: () => 0,
    ask: () => new Promise(() => undefined),
    onError: () => undefined,
  });
  onTestFinished(() => server.close());
  const beganMs = performance.now();
  const body = eraseBody('ann@canary.example');
  const headers = { 'idempotency-key': randomUUID() };
  const answered = await callIntake(server.url, '/v1/requests', { body, headers });
  expect(answered).toMatchObject({ status: 503, body: { title: 'unavailable' } });
  expect(answered.headers.get('retry-after')).toBe('5');
  expect(performance.now() - beganMs).toBeLessThan(1_000);
});
