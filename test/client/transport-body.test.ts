import { once } from 'node:events';
import { Readable, pipeline } from 'node:stream';
import { brotliCompressSync, createGzip, deflateSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Answerer } from './local-server.ts';
import { get, transportTo, unreachable } from './local-transport.ts';

test('a character that is cut between two chunks stays whole', async () => {
  const bytes = Buffer.from('[😀]');
  const transport = await transportTo((_request, response) => {
    response.write(bytes.subarray(0, 3), () => response.end(bytes.subarray(3)));
  });
  expect((await transport.send(get)).bytes.toString()).toBe('[😀]');
});

test.for([
  ['gzip', gzipSync],
  ['GZIP', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['identity', (body: Buffer) => body],
] as const)('an answer in %s is unpacked', async ([encoding, pack]) => {
  const text = JSON.stringify({ results: Array.from({ length: 5000 }, (_value, index) => `person ${index}`) });
  const transport = await transportTo((_request, response) => {
    response.writeHead(200, { 'content-encoding': encoding });
    response.end(pack(Buffer.from(text)));
  });
  expect((await transport.send(get)).bytes.toString()).toBe(text);
});

test.for([204, 200])('an answer %d without a body has none, even when it names an encoding', async (status) => {
  const transport = await transportTo((_request, response) => {
    response.writeHead(status, { 'content-encoding': 'gzip', ...(status === 200 && { 'content-length': 0 }) });
    response.end();
  });
  expect(await transport.send(get)).toMatchObject({ status, bytes: Buffer.alloc(0) });
});

test('an encoding that was not asked for is refused, and gives its connection back', async () => {
  // No time of the transport runs out here: only the refusal itself can free the one connection.
  const transport = await transportTo((request, response) => {
    if (request.url === '/whole') response.end('whole');
    else response.writeHead(200, { 'content-encoding': 'compress' }).write('never ends');
  });
  await expect(transport.send(get)).rejects.toMatchObject({ code: 'service', retryable: false });
  expect((await transport.send({ method: 'GET', path: '/whole' })).bytes.toString()).toBe('whole');
}, 5000);

test('a body of the allowed size is read, one byte more is refused', async () => {
  const transport = await transportTo((request, response) => response.end('x'.repeat(Number(request.url?.slice(1)))), {
    bodyBytesMax: 1000,
  });
  expect((await transport.send({ method: 'GET', path: '/1000' })).bytes.toString()).toHaveLength(1000);
  await expect(transport.send({ method: 'GET', path: '/1001' })).rejects.toMatchObject({
    code: 'oversize',
    retryable: false,
    message: "the service's answer is larger than 1000 bytes",
  });
});

const zeros = Buffer.alloc(65_536);
const endless = () =>
  Readable.from(
    (function* () {
      for (;;) yield zeros;
    })(),
  );

test.for([
  ['as it is', (body: Readable) => body, {}],
  ['as a gzip bomb', (body: Readable) => body.pipe(createGzip()), { 'content-encoding': 'gzip' }],
] as const)('a body without end, sent %s, is given up while it streams in', async ([, pack, headers]) => {
  let closed: Promise<unknown> | undefined;
  const transport = await transportTo((request, response) => {
    if (request.url === '/whole') {
      response.end('whole');
      return;
    }
    closed = once(response, 'close');
    response.writeHead(200, headers);
    const body = endless();
    pipeline(pack(body), response, () => body.destroy());
  });
  await expect(transport.send(get)).rejects.toMatchObject({ code: 'oversize' });
  await closed;
  expect((await transport.send({ method: 'GET', path: '/whole' })).bytes.toString()).toBe('whole');
});

const packed = gzipSync('x'.repeat(10_000));
const corrupt = Buffer.concat([packed.subarray(0, -8), Buffer.alloc(8)]);

test.each([
  ['cut off', packed.subarray(0, 20)],
  ['damaged', corrupt],
])('of a compressed answer that is %s, the error says so', async (_what, body) => {
  const transport = await transportTo((_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    response.end(body);
  });
  await expect(transport.send(get)).rejects.toThrow(/its compressed answer is cut off or damaged \(Z_\w+\)$/);
});

test.for([
  ['nothing', (_request, response) => response.destroy()],
  [
    'half a body of a known length',
    (_request, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('half', () => response.destroy());
    },
  ],
  ['an open chunked body', (_request, response) => response.write('half', () => response.destroy())],
  [
    'half a gzip body, whole by its length',
    (_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(packed.subarray(0, 20));
    },
  ],
  [
    'half a gzip body, and a reset',
    (_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': packed.length });
      response.write(packed.subarray(0, 20), () => response.destroy());
    },
  ],
  [
    'a gzip body with a wrong checksum',
    (_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(corrupt);
    },
  ],
  [
    'plain text that calls itself gzip',
    (_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end('{}');
    },
  ],
] as const satisfies [string, Answerer][])('%s is no answer, and may be asked for again', async ([, answer]) => {
  let isFirst = true;
  const transport = await transportTo((request, response) => {
    if (isFirst) answer(request, response);
    else response.end('whole');
    isFirst = false;
  });
  await expect(transport.send(get)).rejects.toMatchObject(unreachable);
  expect((await transport.send(get)).bytes.toString()).toBe('whole');
});
