import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabaseReadOnly } from '../../src/mirror/database.ts';
import { countRows } from '../../src/mirror/read-rows.ts';
import { listRuns } from '../../src/mirror/runs.ts';
import { openWorkspace, type Workspace } from './workspace.ts';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await openWorkspace({ persons: 40, recordings: 4 });
  workspace.sandbox.store.apiKeys.issue('key_for_recordings', 1, ['session_recording:read']);
  await workspace.run(['sync']);
});
afterAll(() => workspace[Symbol.asyncDispose]());

/** Errors of the network are tried again: soon enough for a test. */
const impatient = ['--set', 'retry.attemptsMax=2', '--set', 'retry.delayBaseMs=1', '--log-level', 'error'];

/** Whatever answers at another address passes for the service that the folder mirrors. */
const moved = () => ['--set', `service.movedFrom=${workspace.sandbox.url}`];

/**
 * A sync fails with one sentence and its fix, and nothing else; the mirror holds what it held, and the run is recorded
 * as failed.
 */
async function assertFailedSync(
  env: Record<string, string>,
  code: number,
  sentence: RegExp,
  ...args: string[]
): Promise<void> {
  const ended = await workspace.run(['sync', 'persons', ...impatient, ...moved(), ...args], { env });
  expect(ended).toMatchObject({ code, stdout: '' });
  expect(ended.stderr).toMatch(/^error: [^\n]+\n {2}[^\n]+\n$/);
  expect(ended.stderr).toMatch(sentence);
  for (const secret of Object.values({ ...env, sandbox: workspace.sandbox.apiKey }))
    if (!secret.startsWith('http') && secret.length > 3) expect(ended.stderr).not.toContain(secret);
  const db = openDatabaseReadOnly(workspace.dataDir);
  expect(countRows(db)).toMatchObject({ persons: 40, recordings: 4 });
  expect(listRuns(db, 1)).toMatchObject([{ job: 'sync', outcome: 'failed' }]);
  db.close();
}

/** Serves one answer to everything on loopback while `use` runs. */
async function serving(answer: RequestListener, use: (url: string) => Promise<void>): Promise<void> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('sync refuses to go on, and loses nothing, when', () => {
  it('nobody answers', async () => {
    let closedPort = '';
    await serving(
      () => undefined,
      (url) => {
        closedPort = url;
        return Promise.resolve();
      },
    );
    await assertFailedSync(
      { MIRROR_BASE_URL: closedPort },
      1,
      /^error: no answer from .*: ECONNREFUSED\n {2}check service\.baseUrl/,
    );
  });

  it('the key is wrong', () =>
    assertFailedSync(
      { MIRROR_API_KEY: 'key_that_nobody_issued' },
      3,
      /^error: the service refuses the API key .*401: authentication_failed\)\n {2}check MIRROR_API_KEY/,
    ));

  it('a scope is missing', () =>
    assertFailedSync(
      { MIRROR_API_KEY: 'key_for_recordings' },
      3,
      /answered 403: permission_denied.*person:read\)\n {2}give the key the scope person:read/,
    ));

  it('the project is no longer there', async () => {
    workspace.sandbox.act({ do: 'set_project', vanished: true });
    try {
      await assertFailedSync(
        {},
        3,
        /^error: the service knows no such project .*404: not_found\)\n {2}check service\.projectId/,
      );
    } finally {
      workspace.sandbox.act({ do: 'set_project', vanished: false });
    }
  });

  it('a login page answers', () =>
    serving(
      (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Log in</html>'),
      (url) =>
        assertFailedSync({ MIRROR_BASE_URL: url }, 1, /answered 200 with text\/html instead of JSON\n {2}a login page/),
    ));

  // Unpacked, it is a name with an escape, and then 400,000 escapes in a text that never ends. A regular expression once
  // looked through the rest of the text at each of them.
  it.each([String.raw`{"a\n":1,"`, '{"a":1,"'])(
    '826 bytes unpack to %s and 400,000 quotes with an escape',
    async (head) => {
      const bytes = gzipSync(head + String.raw`\"`.repeat(400_000));
      expect(bytes.length).toBeLessThan(827);
      const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
      const timeoutMs = 10_000;
      await serving(
        (_request, response) => response.writeHead(200, headers).end(bytes),
        async (url) => {
          const beganAtMs = performance.now();
          await assertFailedSync(
            { MIRROR_BASE_URL: url },
            1,
            /answered 200 with text that is cut off, malformed or not UTF-8 instead of JSON\n/,
            '--set',
            `service.totalTimeoutMs=${timeoutMs}`,
          );
          expect(performance.now() - beganAtMs).toBeLessThan(timeoutMs);
        },
      );
    },
  );

  it('another program answers in JSON', () =>
    serving(
      (_request, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"hello":1}'),
      (url) => assertFailedSync({ MIRROR_BASE_URL: url }, 1, /not a page of a list\n/),
    ));

  it('the service redirects, and the key goes nowhere else', async () => {
    let visits = 0;
    await serving(
      (_request, response) => {
        visits += 1;
        response.end();
      },
      (elsewhere) =>
        serving(
          (_request, response) => response.writeHead(302, { location: `${elsewhere}/login` }).end(),
          (url) => assertFailedSync({ MIRROR_BASE_URL: url }, 1, /^error: the service redirects .*302\)/),
        ),
    );
    expect(visits).toBe(0);
  });

  it('the service fails again and again', () =>
    serving(
      (_request, response) => response.writeHead(503, { 'content-type': 'text/plain' }).end('down'),
      (url) => assertFailedSync({ MIRROR_BASE_URL: url }, 1, /^error: the service is not ready .*503\)/),
    ));

  it('an answer is too large, packed or not', async () => {
    const limit = ['--set', 'service.bodyBytesMax=100000'];
    const large = JSON.stringify({ results: [], next: null, padding: ' '.repeat(5_000_000) });
    const tooLarge = /^error: .*larger than 100000 bytes\n {2}.*service\.bodyBytesMax/;
    await serving(
      (_request, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(large),
      (url) => assertFailedSync({ MIRROR_BASE_URL: url }, 1, tooLarge, ...limit),
    );
    const packed = gzipSync(large);
    expect(packed.length).toBeLessThan(10_000);
    await serving(
      (_request, response) =>
        response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(packed),
      (url) => assertFailedSync({ MIRROR_BASE_URL: url }, 1, tooLarge, ...limit),
    );
  });
});

describe('doctor', () => {
  it('names each thing that is wrong with its fix, and ends with code 1', async () => {
    const { code, stdout, stderr } = await workspace.run(['doctor', ...impatient], {
      env: { MIRROR_API_KEY: 'key_that_nobody_issued' },
    });
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout).toMatch(/^ok +mirror +mirror\.db is sound and holds 40 persons$/m);
    expect(stdout).toMatch(/^failed +service: persons +the service refuses the API key .*; check MIRROR_API_KEY/m);
  });
});
