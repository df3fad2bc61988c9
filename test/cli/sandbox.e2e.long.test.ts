import { describe, expect, it } from 'vitest';
import { runCli, startCli } from './run-cli.ts';

describe('sandbox', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('serves until %s, then ends cleanly', async (signal) => {
    const args = ['sandbox', '--json', '--persons', '20', '--recordings', '5', '--seed', '9'];
    const { child, output, ended } = startCli(args);
    const first = await output('stdout', /\n/);
    const { url, apiKey, ...rest } = JSON.parse(first) as Record<string, unknown>;
    const { length } = rest['playlists'] as string[];
    expect(Object.keys(rest)).toEqual(['projectId', 'readOnlyKey', 'playlists']);
    expect(length).toBeGreaterThan(0);
    const answer = await fetch(`${String(url)}/api/environments/${String(rest['projectId'])}/persons/`, {
      headers: { authorization: `Bearer ${String(apiKey)}` },
    });
    expect(await answer.json()).toMatchObject({ count: 20 });
    child.kill(signal);
    expect(await ended).toEqual({ code: 0, stdout: first, stderr: '' });
    await expect(fetch(String(url))).rejects.toThrow('fetch failed');
  });

  it('tells people how to use it', async () => {
    const { child, output, ended } = startCli(['sandbox', '--persons', '20', '--recordings', '5']);
    const text = await output('stdout', /Ctrl\+C\.\n/);
    expect(text).toMatch(/export MIRROR_BASE_URL=http:\/\/127\.0\.0\.1:\d+ MIRROR_PROJECT_ID=1\n/);
    expect(text).toMatch(/export MIRROR_API_KEY=\w+\n/);
    child.kill();
    expect((await ended).code).toBe(0);
  });

  it('serves a live service that changes, fails and limits, when asked to', async () => {
    const { child, output, ended } = startCli(
      'sandbox --json --persons 20 --recordings 5 --profile live --churn 1 --faults next-elsewhere --rate 2/h,9/s --rate 3/h'.split(
        ' ',
      ),
    );
    const { url, apiKey } = JSON.parse(await output('stdout', /\n/)) as { url: string; apiKey: string };
    const list = (): Promise<Response> =>
      fetch(`${url}/api/projects/1/persons/?limit=5`, { headers: { authorization: `Bearer ${apiKey}` } });
    expect(await (await list()).json()).not.toHaveProperty('count');
    const truth = await (await fetch(`${url}/__sandbox/truth`)).text();
    expect(truth).toMatch(/^\{"state":"version","version":\d+\}\n/);
    await list();
    expect((await list()).status).toBe(429);
    child.kill();
    expect((await ended).code).toBe(0);
  });

  it('sets options of the live profile', async () => {
    const options = ['--live', 'personsLimitMax=7', '--live', 'ghostShare=0'];
    const { child, output, ended } = startCli([
      'sandbox',
      '--json',
      '--persons',
      '20',
      '--profile',
      'live',
      ...options,
    ]);
    const { url, apiKey } = JSON.parse(await output('stdout', /\n/)) as { url: string; apiKey: string };
    const headers = { authorization: `Bearer ${apiKey}` };
    const page = await (await fetch(`${url}/api/projects/1/persons/?limit=100`, { headers })).json();
    expect((page as { results: unknown[] }).results).toHaveLength(7);
    child.kill();
    expect((await ended).code).toBe(0);
  });

  it('has hostile values only if it is asked for them', async () => {
    const huge = async (...options: string[]): Promise<boolean> => {
      const { child, output, ended } = startCli([
        'sandbox',
        '--json',
        '--persons',
        '30',
        '--recordings',
        '1',
        ...options,
      ]);
      const { url, apiKey } = JSON.parse(await output('stdout', /\n/)) as { url: string; apiKey: string };
      const headers = { authorization: `Bearer ${apiKey}` };
      const text = await (await fetch(`${url}/api/environments/1/persons/`, { headers })).text();
      child.kill();
      await ended;
      return text.includes('123456789012345678901234567890') && text.includes(String.raw`\ud800`);
    };
    expect([await huge(), await huge('--hostile')]).toEqual([false, true]);
  });

  it.each([
    ['--port 70000', 2, 'a port is at most 65535'],
    ['--port http', 2, 'write a whole number'],
    ['--persons many', 2, 'write a whole number'],
    ['--profile unreal', 2, 'Allowed choices are documented, live'],
    ['--profile live --live ghosts=1', 2, 'write NAME=VALUE; the names are personsLimitMax, recordingsLimitMax, '],
    ['--profile live --live ghostShare', 2, 'write NAME=VALUE; the names are'],
    ['--profile live --live ghostShare=2', 2, 'ghostShare is how many positions of a list show no row'],
    ['--profile live --live ghostShare=few', 2, 'ghostShare is how many positions of a list show no row'],
    ['--live ghostShare=0', 2, '--live is for the live profile'],
    ['--churn -1', 2, 'write a number, as 0.5'],
    ['--faults floods', 2, 'Allowed choices are 429, 500,'],
    ['--rate 5', 2, 'write it as 10/s, 480/min or 4800/h'],
    ['--dir /dev/null/sandbox', 1, 'the sandbox cannot use its folder'],
    ['--dir /proc/sandbox', 1, 'the sandbox cannot use its folder'],
  ])('says what is wrong with %s', async (args, code, words) => {
    const ended = await runCli(['sandbox', ...args.split(' ')]);
    expect(ended).toMatchObject({ code, stdout: '' });
    expect(ended.stderr).toContain(words);
    expect(ended.stderr).not.toContain('    at ');
  });

  it('says that a port is taken', async () => {
    const { child, output, ended } = startCli(['sandbox', '--json', '--persons', '5', '--recordings', '1']);
    const { url } = JSON.parse(await output('stdout', /\n/)) as { url: string };
    const { port } = new URL(url);
    const second = await runCli(['sandbox', '--port', port]);
    expect(second).toMatchObject({ code: 2, stdout: '' });
    expect(second.stderr).toMatch(new RegExp(`^error: the sandbox cannot listen on 127.0.0.1:${port}\n`));
    child.kill();
    await ended;
  });
});
