import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { catalogToken } from '../../src/bucket/catalog-token.ts';
import { bodyOf, localServer } from '../client/local-server.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';

const none = {
  warehouse: null,
  namespace: 'analytics',
  tokenFile: null,
  clientFile: null,
  tokenUri: null,
  scope: null,
  sigv4: null,
};
const { signal } = new AbortController();

/** A server that grants tokens, and what it was asked: path and form. `answer`: its status and its body. */
async function grantingServer(answer: () => readonly [status: number, body: string]) {
  const asked: [path: string, form: object][] = [];
  const { origin } = await localServer(async (request, response) => {
    expect(request.headers['content-type']).toBe('application/x-www-form-urlencoded');
    asked.push([request.url ?? '', Object.fromEntries(new URLSearchParams(await bodyOf(request)))]);
    const [status, body] = answer();
    response.writeHead(status).end(body);
  });
  return { origin, asked };
}

/** A file that names the client. */
function clientFile(text: string): string {
  const path = join(freshFolder(), 'client');
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

test('a client is granted a token by the catalog, or by the place that the settings name', async () => {
  const granted = JSON.stringify({ access_token: 'granted', token_type: 'Bearer', expires_in: 3600 });
  const { origin, asked } = await grantingServer(() => [200, granted]);
  const file = clientFile('reader:s3cr&t=:1\n');
  const uri = `${origin}/api/`;
  expect(await catalogToken({ ...none, uri }, signal)).toBeNull();
  expect(await catalogToken({ ...none, uri, clientFile: file }, signal)).toBe('granted');
  const tokenUri = `${origin}/realms/lake/token`;
  await catalogToken({ ...none, uri, clientFile: file, tokenUri, scope: 'catalog all' }, signal);
  const form = { grant_type: 'client_credentials', client_id: 'reader', client_secret: 's3cr&t=:1' };
  expect(asked).toEqual([
    ['/api/v1/oauth/tokens', form],
    ['/realms/lake/token', { ...form, scope: 'catalog all' }],
  ]);
});

test.each([
  [401, '{"error":"invalid_client","error_description":"s3cret"}', 'refused', 'answers with 401'],
  [503, 's3cret', 'service', 'answers with 503'],
  [429, 's3cret', 'service', 'answers with 429'],
  [302, 's3cret', 'service', 'answers with 302'],
  [200, '{"access_token":"s3cret","token_type":"mac"}', 'service', 'gives no bearer token'],
  [200, 's3cret', 'service', 'gives no bearer token'],
  [200, '{"access_token":"s3cret\\r\\nx: y","token_type":"bearer"}', 'service', 'gives no bearer token'],
  [200, 's3cret'.repeat(20_000), 'service', 'gives no bearer token'],
])('no token is granted: %i %s', async (status, body, code, says) => {
  const { origin } = await grantingServer(() => [status, body]);
  const asking = catalogToken({ ...none, uri: origin, clientFile: clientFile('reader:s3cret') }, signal);
  const error: unknown = await asking.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code });
  expect(String(error)).toContain(says);
  expect(String(error)).not.toContain('s3cret');
});

test('a file that names no client, or that others may read, is refused', async () => {
  for (const text of ['', 'reader', ':s3cret', 'reader:', 'reader:a\nother:b\n', 'rea der:s3cret'])
    await expect(
      catalogToken({ ...none, uri: 'http://127.0.0.1:9', clientFile: clientFile(text) }, signal),
    ).rejects.toThrow('does not hold one line such as id:secret');
  const open = clientFile('reader:s3cret');
  chmodSync(open, 0o666);
  await expect(catalogToken({ ...none, uri: 'http://127.0.0.1:9', clientFile: open }, signal)).rejects.toMatchObject({
    code: 'usage',
  });
});

test.each(['', 's3cret\nother', 's3 cret', 's3crét'])('a file that holds no token is refused: %j', async (text) => {
  const asking = catalogToken({ ...none, uri: 'http://127.0.0.1:9', tokenFile: clientFile(text) }, signal);
  await expect(asking).rejects.toThrow('export.catalog.tokenFile: the file does not hold one token');
});

test('a place that does not answer is named, and asked again', async () => {
  const asking = catalogToken({ ...none, uri: 'http://127.0.0.1:9', clientFile: clientFile('reader:s3cret') }, signal);
  await expect(asking).rejects.toMatchObject({ code: 'unreachable', retryable: true });
});
