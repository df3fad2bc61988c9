import { createServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { runScript } from '../cli/run-cli.ts';
import { localServer } from './local-server.ts';

const run = runScript(new URL('./proxied-child.ts', import.meta.url));

it('what is on this machine goes past the proxy of the environment, even where Node is told to use it', async () => {
  const asked: string[] = [];
  const proxied: string[] = [];
  const target = await localServer((request, response) => {
    asked.push(request.url ?? '');
    response.end();
  });
  const proxy = await localServer((request, response) => {
    proxied.push(request.url ?? '');
    response.end('the proxy');
  });
  proxy.server.on('connect', (request, socket) => {
    proxied.push(request.url ?? '');
    socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
  });
  const env = {
    NODE_USE_ENV_PROXY: '1',
    HTTP_PROXY: proxy.origin,
    http_proxy: proxy.origin,
    HTTPS_PROXY: proxy.origin,
    ALL_PROXY: proxy.origin,
    OTEL_EXPORTER_OTLP_ENDPOINT: target.origin,
  };
  expect(await run([target.origin], { env })).toMatchObject({ code: 0, stderr: '' });
  expect(asked).toEqual(['/service', '/webhook', '/v1/traces']);
  expect(proxied.length).toBeGreaterThan(0);
});

const tunnel = runScript(new URL('./tunnelled-child.ts', import.meta.url));
const certificate = new URL('keys/localhost.pem', import.meta.url);

/** A service by `https`, with a certificate of an authority of its own, and a proxy that tunnels, or answers with a status. */
async function tunnelled(status = 200): Promise<{ origin: string; proxy: string; asked: string[]; opened: string[] }> {
  const [asked, opened]: [string[], string[]] = [[], []];
  const keys = { key: readFileSync(new URL('keys/localhost.key', import.meta.url)), cert: readFileSync(certificate) };
  const service = createServer(keys, (request, response) => {
    asked.push(`${request.url} ${request.headers.authorization ?? 'no key'}`);
    response.end('{}');
  });
  await new Promise<void>((resolve) => {
    service.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    service.close();
    service.closeAllConnections();
  });
  const { port } = service.address() as AddressInfo;
  const { origin: proxy, server } = await localServer((_request, response) => response.writeHead(500).end());
  server.on('connect', (request, socket) => {
    opened.push(`${request.url} ${request.headers.authorization ?? 'no key'}`);
    if (status !== 200) return void socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
    const to = connect(port, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    socket.on('error', () => to.destroy()).pipe(to);
    to.on('error', () => socket.destroy()).pipe(socket);
  });
  return { origin: `https://localhost:${port}`, proxy, asked, opened };
}

it('an https service is reached by a tunnel of the proxy, which sees no key, with an authority of one’s own', async () => {
  const { origin, proxy, asked, opened } = await tunnelled();
  const env = { HTTPS_PROXY: proxy, NODE_EXTRA_CA_CERTS: fileURLToPath(certificate) };
  expect(await tunnel([origin], { env })).toMatchObject({ code: 0, stdout: 'done', stderr: '' });
  expect(asked).toEqual(['/service Bearer key', '/webhook no key']);
  const host = new URL(origin).host;
  expect(opened).toEqual([`${host} no key`, `${host} no key`]);
  const past = await tunnel([origin], { env: { ...env, NO_PROXY: 'example.com,localhost' } });
  expect([past.stdout, opened.length, asked.length]).toEqual(['done', 2, 4]);
});

it.each<[string, Record<string, string>, RegExp]>([
  ['that refuses', {}, /no answer from https:\/\/localhost:\d+: the proxy of HTTPS_PROXY answers with 407$/],
  ['that is no address', { HTTPS_PROXY: 'user:secret@proxy' }, /^HTTPS_PROXY is no address of a proxy$/],
])('a proxy %s is named, and its password is not', async (_what, more, message) => {
  const { origin, proxy } = await tunnelled(407);
  const env = { HTTPS_PROXY: proxy, NODE_EXTRA_CA_CERTS: fileURLToPath(certificate), ...more };
  expect((await tunnel([origin], { env })).stdout).toMatch(message);
});
