import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabaseReadOnly } from '../../src/mirror/database.ts';
import { countRows } from '../../src/mirror/read-rows.ts';
import { listRuns } from '../../src/mirror/runs.ts';
import { localServer, type Answerer } from '../client/local-server.ts';
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
  using db = openDatabaseReadOnly(workspace.dataDir);
  expect(countRows(db)).toMatchObject({ persons: 40, recordings: 4 });
  expect(listRuns(db, 1)).toMatchObject([{ job: 'sync', outcome: 'failed' }]);
}

const inJson = { 'content-type': 'application/json' };
const large = JSON.stringify({ results: [], next: null, padding: ' '.repeat(5_000_000) });
const tooLarge = /^error: .*larger than 100000 bytes\n {2}.*service\.bodyBytesMax/;
const limit = ['--set', 'service.bodyBytesMax=100000'];

/** What answers in the place of the service, and what the sync says. */
const answers: [what: string, answer: Answerer, sentence: RegExp, ...args: string[]][] = [
  [
    'a login page answers',
    (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Log in</html>'),
    /answered 200 with text\/html instead of JSON\n {2}a login page/,
  ],
  [
    'another program answers in JSON',
    (_request, response) => response.writeHead(200, inJson).end('{"hello":1}'),
    /not a page of a list\n/,
  ],
  [
    'the service fails again and again',
    (_request, response) => response.writeHead(503, { 'content-type': 'text/plain' }).end('down'),
    /^error: the service is not ready .*503\)/,
  ],
  ['an answer is too large', (_request, response) => response.writeHead(200, inJson).end(large), tooLarge, ...limit],
  [
    'an answer is too large once it is unpacked',
    (_request, response) => response.writeHead(200, { ...inJson, 'content-encoding': 'gzip' }).end(gzipSync(large)),
    tooLarge,
    ...limit,
  ],
];

describe('sync refuses to go on, and loses nothing, when', () => {
  it.each(answers)('%s', async (_what, answer, sentence, ...args) => {
    const { origin } = await localServer(answer);
    await assertFailedSync({ MIRROR_BASE_URL: origin }, 1, sentence, ...args);
  });

  it('nobody answers', async () => {
    const { origin, server } = await localServer(() => undefined);
    server.close();
    await once(server, 'close');
    await assertFailedSync(
      { MIRROR_BASE_URL: origin },
      1,
      /^error: no answer from .*: ECONNREFUSED\n {2}check service\.baseUrl/,
    );
    const { stderr } = await workspace.run(['sync', 'persons', '--log-level', 'warn'], {
      env: { MIRROR_BASE_URL: origin },
    });
    const [repeated = ''] = stderr.split('\n');
    expect(JSON.parse(repeated)).toMatchObject({
      code: 'unreachable',
      errno: 'ECONNREFUSED',
      host: new URL(origin).host,
      endpoint: 'GET /persons',
      msg: 'call failed, trying again',
    });
  });

  it('the key is wrong', () =>
    assertFailedSync(
      { MIRROR_API_KEY: 'key_that_nobody_issued' },
      3,
      /^error: the service refuses the API key .*401: authentication_failed\)\n {2}check `MIRROR_API_KEY`/,
    ));

  it('the key is one of a project', () =>
    assertFailedSync(
      { MIRROR_API_KEY: 'phc_key_that_nobody_issued' },
      3,
      /check `MIRROR_API_KEY`; the configured key \(phc_…\) is that of a project, which only sends events: a personal API key is needed$/m,
    ));

  it('the question has what the service does not know, by a setting', async () => {
    const { origin } = await localServer((_request, response) => response.writeHead(400, inJson).end('{}'));
    const query = ['--set', 'recordings.query={date_from: banana}'];
    const { code, stderr } = await workspace.run(['sync', 'recordings', ...query], {
      env: { MIRROR_BASE_URL: origin },
    });
    expect(code).toBe(1);
    expect(stderr).toContain('\n  check the setting recordings.query, which adds date_from to the question\n');
  });

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

  // Unpacked, it is a name with an escape, and then 400,000 escapes in a text that never ends. A regular expression once
  // looked through the rest of the text at each of them.
  it.each([String.raw`{"a\n":1,"`, '{"a":1,"'])(
    '826 bytes unpack to %s and 400,000 quotes with an escape',
    async (head) => {
      const bytes = gzipSync(head + String.raw`\"`.repeat(400_000));
      expect(bytes.length).toBeLessThan(827);
      const timeoutMs = 10_000;
      const { origin } = await localServer((_request, response) =>
        response.writeHead(200, { ...inJson, 'content-encoding': 'gzip' }).end(bytes),
      );
      const beganAtMs = performance.now();
      await assertFailedSync(
        { MIRROR_BASE_URL: origin },
        1,
        /answered 200 with text that is cut off, malformed or not UTF-8 instead of JSON\n/,
        '--set',
        `service.totalTimeoutMs=${timeoutMs}`,
      );
      expect(performance.now() - beganAtMs).toBeLessThan(timeoutMs);
    },
  );

  it('the service redirects, and the key goes nowhere else', async () => {
    let visits = 0;
    const elsewhere = await localServer((_request, response) => {
      visits += 1;
      response.end();
    });
    const { origin } = await localServer((_request, response) =>
      response.writeHead(302, { location: `${elsewhere.origin}/login` }).end(),
    );
    await assertFailedSync({ MIRROR_BASE_URL: origin }, 1, /^error: the service redirects .*302\)/);
    expect(visits).toBe(0);
  });
});

describe('doctor', () => {
  it('names each thing that is wrong with its fix, and ends with code 1', async () => {
    const { code, stdout, stderr } = await workspace.run(['doctor', ...impatient], {
      env: { MIRROR_API_KEY: 'key_that_nobody_issued' },
    });
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout).toMatch(/^ok +mirror +mirror\.db is sound and holds 40 persons$/m);
    expect(stdout).toMatch(/^failed +service: persons +the service refuses the API key .*; check `MIRROR_API_KEY`/m);
  });
});
