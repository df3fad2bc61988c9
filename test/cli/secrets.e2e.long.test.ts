import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { scopes } from '../../src/contract/endpoints.ts';
import type { Ended } from './run-cli.ts';
import { openWorkspace, type Workspace } from './workspace.ts';

/** Begins like no word of the program's own, so that also a part of it shows. */
const apiKey = 'phx_q7w8e9r0t1y2u3i4o5p6';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await openWorkspace({ persons: 30, recordings: 5 });
  workspace.sandbox.store.apiKeys.issue(apiKey, 1, scopes);
});
afterAll(() => workspace[Symbol.asyncDispose]());

const commands = [
  ['sync'],
  ['sync', '--json', '--set', `playlists.shortIds=[nope]`],
  ['export'],
  ['status', '--json'],
  ['query', 'SELECT * FROM runs'],
  ['doctor'],
  ['config', 'print'],
  ['config', 'print', '--json'],
  ['call', 'persons.list'],
  ['call', 'persons.retrieve', '--param', 'id=999999', '--json'],
  ['query', 'SELECT nonsense'],
];

it('the API key is in no output and in no file, whatever the log level and whatever fails', async () => {
  const run = (level: string, args: readonly string[], env = {}): Promise<Ended> =>
    workspace.run([...args, '--log-level', level], { env: { MIRROR_API_KEY: apiKey, ...env } });
  const endings: Ended[] = [];
  for (const [index, args] of commands.entries()) endings.push(await run(index % 2 === 0 ? 'trace' : 'debug', args));
  expect(endings.map(({ code }) => code)).toEqual([0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
  const unknownKey = { MIRROR_API_KEY: `${apiKey}_unknown` };
  const failures = await Promise.all([
    run('trace', ['sync'], unknownKey),
    run('trace', ['doctor', '--set', 'retry.attemptsMax=1'], { MIRROR_BASE_URL: 'http://127.0.0.1:9' }),
    run('trace', ['sync', '--set', 'service.nonsense=1']),
    run('trace', ['sync', '--json'], { MIRROR_API_KEY: `${apiKey} broken` }),
    run('trace', ['demo', '--data-dir', workspace.dataDir]),
  ]);
  expect(failures.map(({ code }) => code)).toEqual([3, 1, 2, 2, 2]);
  for (const { stdout, stderr } of [...endings, ...failures])
    expect(`${stdout}${stderr}`).not.toMatch(/phx_|q7w8e9|u3i4o5/);

  const files = readdirSync(workspace.dataDir, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  expect(files.length).toBeGreaterThan(6);
  const telling = files.filter((file) => readFileSync(join(file.parentPath, file.name), 'latin1').includes('q7w8e9'));
  expect(telling).toEqual([]);
});

it('what fails shows no person, also at level trace', async () => {
  const failures = await Promise.all([
    workspace.run(['call', 'persons.retrieve', '--param', 'id=ann@example.com', '--log-level', 'trace']),
    workspace.run(['call', 'persons.list', '--param', 'ann@example.com', '--log-level', 'trace']),
    workspace.run(['call', 'persons.update', '--param', 'id=1', '--body', 'ann@example.com', '--log-level', 'trace']),
    workspace.run(['call', 'playlists.retrieve', '--param', 'short_id=ann@example.com', '--log-level', 'trace']),
  ]);
  for (const { code, stdout, stderr } of failures) {
    expect(code).toBeGreaterThan(0);
    expect(`${stdout}${stderr}`).not.toContain('ann@');
  }
});
