import { fileURLToPath } from 'node:url';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli, type Ended } from './run-cli.ts';
import { openWorkspace, type Workspace } from './workspace.ts';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await openWorkspace({ persons: 10, recordings: 2 });
});
afterAll(() => workspace[Symbol.asyncDispose]());

/** Writes a configuration file and returns its path. */
function file(name: string, text: string): string {
  const path = join(workspace.folder, name);
  writeFileSync(path, text);
  return path;
}

/** Code 2, nothing on standard output, and exactly these lines on standard error. */
function assertUsage(ended: Ended, ...lines: (string | RegExp)[]): void {
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  const shown = ended.stderr.trimEnd().split('\n');
  expect(shown).toEqual(lines.map((line) => (typeof line === 'string' ? line : expect.stringMatching(line))));
}

describe.concurrent('a wrong command line', () => {
  it.each([
    ['nonsense', "unknown command 'nonsense'"],
    ['status --nonsense', "unknown option '--nonsense'"],
    ['sync people', /'people' is invalid for argument 'datasets'. Allowed choices are persons, /],
    ['sync --mode sideways', /'sideways' is invalid. Allowed choices are full, head/],
    ['sync --fresh --resume', "option '--resume' cannot be used with option '--fresh'"],
    ['query', "missing required argument 'sql'"],
    ['query select ann@example.com', /^error: too many arguments for 'query'. Expected 1 argument but got 2$/],
  ])('%s', async (args, words) => {
    const message = typeof words === 'string' ? `error: ${words}` : words;
    assertUsage(await workspace.run(args.split(' ')), message, '  add --help for help');
  });
});

describe.concurrent('a place that cannot be used', () => {
  it('a folder that is gone', async () => {
    const gone = join(workspace.folder, 'gone');
    const shell = `mkdir ${gone} && cd ${gone} && rmdir ${gone} && exec "$@"`;
    for (const command of [['status'], ['init', '--yes']])
      assertUsage(
        await runCli(command, { shell }),
        'error: the folder in which this command was called is gone',
        '  change to a folder that exists',
      );
  });

  it('no folder for what is temporary', async () => {
    const ended = await runCli(['demo'], { env: { TMPDIR: '/missing' } });
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toMatch(/^error: the demo cannot make a folder in \/missing \(ENOENT\)\n {2}set TMPDIR /);
  });
});

describe.concurrent('wrong settings', () => {
  const hint = `  ${fileURLToPath(new URL('../../config/default.yaml', import.meta.url))} explains every setting`;

  it('are all told at once, by path, without their values', async () => {
    const path = file(
      'wrong.yaml',
      `persons: { pageSize: many, pagesize: 5 }\nservice: { baseUrl: "http://analytics.example.com", apiKey: phx_secret }\nnonsense: 1\n`,
    );
    const args = ['status', '--config', path, '--set', 'retry.attemptsMax=0', '--log-level', 'loud'];
    const ended = await workspace.run(args, { env: { MIRROR_BASE_URL: '', MIRROR_FOO: '1' } });
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).not.toContain('phx_secret');
    const [head, ...rest] = ended.stderr.trimEnd().split('\n');
    expect(head).toBe('error: the configuration has 8 problems:');
    expect(rest.pop()).toBe(hint);
    expect(rest.toSorted()).toEqual([
      expect.stringMatching(/^ {2}MIRROR_FOO: unknown variable \(known are MIRROR_BASE_URL, /),
      expect.stringMatching(/^ {2}log\.level: .*"trace"/),
      '  nonsense: unknown setting',
      expect.stringMatching(/^ {2}persons\.pageSize: .*number/),
      '  persons.pagesize: unknown setting (did you mean persons.pageSize?)',
      expect.stringMatching(/^ {2}retry\.attemptsMax: .*>=1/),
      '  service.apiKey: unknown setting',
      expect.stringMatching(/^ {2}service\.baseUrl: must begin with https:\/\//),
    ]);
  });

  it('no address, project and key', async () => {
    const ended = await runCli(['sync'], { env: { MIRROR_DATA_DIR: workspace.dataDir } });
    assertUsage(
      ended,
      /^error: not configured: the address of the service \(.*\), the project \(.*\), the API key \(.*\)$/,
      /^ {2}set what is missing; /,
    );
  });
});
