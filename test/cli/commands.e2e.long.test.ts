import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonOf, runCli } from './run-cli.ts';
import { openWorkspace, type Workspace } from './workspace.ts';

const commands = ['demo', 'sync', 'export', 'status', 'query', 'doctor', 'config print', 'call', 'sandbox'] as const;

let workspace: Workspace;
beforeAll(async () => {
  workspace = await openWorkspace();
  await workspace.run(['sync']);
  await workspace.run(['export']);
});
afterAll(() => workspace[Symbol.asyncDispose]());

describe.concurrent('help', () => {
  it.each(commands)('of %s has examples, on standard output', async (command) => {
    const { code, stdout, stderr } = await runCli([...command.split(' '), '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [, examples = ''] = stdout.split('\nExamples:\n');
    expect(examples).toMatch(new RegExp(`^  (analytics-mirror ${command}|npm run demo)`));
  });

  it('is for standard error, with code 2, when no command is given', async () => {
    const { code, stdout, stderr } = await runCli([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^Usage: /);
    expect(stderr).toMatch(/\nerror: no command is given\n {2}add --help for help\n$/);
  });
});

describe.concurrent('text for people', () => {
  it.each([
    [
      'status',
      /^All is well\nmirror in .*\n\nlist +is +complete as of .*\n(?:.+\n)+\ntable +rows\npersons +120\n[\s\S]*persons full +complete[\s\S]*\bdone\b/,
    ],
    ['doctor', /^state +check +found\n(ok .*\n)+$/],
    ['config print', /^dataDir: .*\nservice:\n[\s\S]*\n# API key: set\n$/],
    ['call persons.list --param limit=1', /^\{\n {2}"count": 120,\n[\s\S]*\n\}\n$/],
  ])('%s prints its result and nothing else on standard output', async (command, result) => {
    const { code, stdout, stderr } = await workspace.run([...command.split(' '), '--log-level', 'warn']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(result);
  });

  it('query shows what a terminal can show', async () => {
    const sql = `SELECT 'a' || char(27) || '[2J' AS word, x'00ff' AS bytes, NULL AS none, 9007199254740993 AS big`;
    const { code, stdout, stderr } = await workspace.run(['query', sql]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe("word   bytes    none  big\na [2J  x'00ff'  NULL  9007199254740993\n");
  });

  it('query tells on standard error that it cut the rows', async () => {
    const sql = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1001) SELECT i FROM n';
    const { code, stdout, stderr } = await workspace.run(['query', sql]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'only the first 1,000 rows are shown\n' });
    expect(stdout.split('\n')).toHaveLength(1002);
  });
});

describe('what jobs print', () => {
  it('is a table on standard output, and a log of one JSON object a line on standard error', async () => {
    for (const [job, table] of [
      ['sync', /^pass .*\npersons full +complete +120 +0 +0 .*UTC\n$/],
      [
        'export',
        /^dataset .*\npersons +\d{8}T\d{6}\.\d{3}Z +full +120 +1 .*complete\ndistinct_ids .*\ndeletions .*\npasses .*\nUnchanged, .* persons since .*\n$/,
      ],
    ] as const) {
      const { code, stdout, stderr } = await workspace.run([job, 'persons']);
      expect(code).toBe(0);
      expect(stdout).toMatch(table);
      const lines = stderr.trimEnd().split('\n');
      expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
        { job, msg: 'run started' },
        { job, msg: 'run ended', outcome: 'done' },
      ]);
    }
  });
});

describe.concurrent('JSON for programs', () => {
  it.each([
    ['status', { rows: { persons: 120, recordings: 30, quarantine: 0 }, lease: null, quarantine: {} }],
    ['doctor', { ok: true }],
    ['config print', { apiKey: 'set', settings: { persons: { pageSize: 1000 } } }],
    ['query "SELECT count(*) AS n FROM persons"', { columns: ['n'], rows: [[120]], isCut: false }],
    ['call persons.list --param limit=1', { status: 200, body: { count: 120, previous: null } }],
  ])('%s prints exactly one object', async (command, expected) => {
    const args = command.match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', '')) ?? [];
    const ended = await workspace.run([...args, '--json']);
    expect(ended.code).toBe(0);
    expect(jsonOf(ended)).toMatchObject(expected);
  });

  it('is also what an error is, whatever went wrong', async () => {
    const failures = await Promise.all([
      workspace.run(['--json', 'nonsense']),
      workspace.run(['--json']),
      workspace.run(['status', '--json', '--set', 'nonsense=1']),
      workspace.run(['sync', '--json'], { env: { MIRROR_API_KEY: 'no-such-key' } }),
      workspace.run(['query', '--json', 'SELECT nonsense']),
      workspace.run(['status', '--json', '--data-dir', join(workspace.folder, 'nowhere')]),
    ]);
    expect(failures.map(({ code }) => code)).toEqual([2, 2, 2, 3, 2, 1]);
    for (const failure of failures) {
      const { error } = jsonOf(failure) as { error: { code: string; message: string; hint: string } };
      expect(Object.keys(error)).toEqual(['code', 'message', 'hint']);
      expect(error.hint).not.toBe('');
      expect(failure.stderr).toContain(`error: ${error.message}\n  ${error.hint}\n`);
    }
  });
});

describe.concurrent('standard output', () => {
  it('may be closed by a reader that has seen enough', async () => {
    const { code, stdout, stderr } = await workspace.run(['call', 'persons.list', '--param', 'limit=100'], {
      shell: '{ "$@"; echo "code $?" >&2; } | head -n 1',
    });
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '{\n', stderr: 'code 0\n' });
  });

  it('may be full', async () => {
    const ended = await workspace.run(['status'], { shell: 'exec "$@" > /dev/full' });
    expect(ended).toEqual({ code: 1, stdout: '', stderr: 'error: standard output cannot be written (ENOSPC)\n' });
  });
});
