import { expect, it } from 'vitest';
import { runScript } from '../cli/run-cli.ts';
import { localServer } from './local-server.ts';

const run = runScript(new URL('./proxied-child.ts', import.meta.url));

it('service, webhook and traces go past the proxy of the environment, even where Node is told to use it', async () => {
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
