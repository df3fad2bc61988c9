import { describe, expect, it } from 'vitest';
import { runCli, startCli, type Ended } from './run-cli.ts';

type Served = { url: string; projectId: string; apiKey: string; readOnlyKey: string; playlists: string[] };

/** Serves twenty persons, unless the options say otherwise. `get` asks with the key, `end` ends it by a signal. */
async function serve(...options: string[]) {
  const args = ['sandbox', '--json', '--persons', '20', '--recordings', '5', ...options];
  const { child, output, ended } = startCli(args);
  const first = await output('stdout', /\n/);
  const served = JSON.parse(first) as Served;
  const get = (path: string): Promise<Response> =>
    fetch(`${served.url}${path}`, { headers: { authorization: `Bearer ${served.apiKey}` } });
  const end = (signal: 'SIGTERM' | 'SIGINT' = 'SIGTERM'): Promise<Ended> => {
    child.kill(signal);
    return ended;
  };
  return { first, served, get, end };
}

describe('sandbox', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('serves until %s, then ends cleanly', async (signal) => {
    const { first, served, get, end } = await serve('--seed', '9');
    expect(Object.keys(served)).toEqual(['url', 'projectId', 'apiKey', 'readOnlyKey', 'playlists']);
    expect(served.playlists.length).toBeGreaterThan(0);
    const answer = await get(`/api/environments/${served.projectId}/persons/`);
    expect(await answer.json()).toMatchObject({ count: 20 });
    expect(await end(signal)).toEqual({ code: 0, stdout: first, stderr: '' });
    await expect(fetch(served.url)).rejects.toThrow('fetch failed');
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
    const options = '--profile live --churn 1 --faults next-elsewhere --rate 2/h,9/s --rate 3/h';
    const { get, end } = await serve(...options.split(' '));
    const list = (): Promise<Response> => get('/api/projects/1/persons/?limit=5');
    expect(await (await list()).json()).not.toHaveProperty('count');
    const truth = await (await get('/__sandbox/truth')).text();
    expect(truth).toMatch(/^\{"state":"version","version":\d+\}\n/);
    await list();
    expect((await list()).status).toBe(429);
    expect((await end()).code).toBe(0);
  });

  it('sets options of the live profile', async () => {
    const options = '--profile live --live personsLimitMax=7 --live ghostShare=0';
    const { get, end } = await serve(...options.split(' '));
    const page = await (await get('/api/projects/1/persons/?limit=100')).json();
    expect((page as { results: unknown[] }).results).toHaveLength(7);
    expect((await end()).code).toBe(0);
  });

  it.each([
    ['has no hostile values', [], false],
    ['has them where it is asked for them', ['--hostile'], true],
  ] as const)('%s', async (_what, options, isHostile) => {
    const { get, end } = await serve('--persons', '30', ...options);
    const text = await (await get('/api/environments/1/persons/')).text();
    expect((await end()).code).toBe(0);
    for (const value of ['123456789012345678901234567890', String.raw`\ud800`])
      expect([value, text.includes(value)]).toEqual([value, isHostile]);
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
    const { served, end } = await serve();
    const { port } = new URL(served.url);
    const second = await runCli(['sandbox', '--port', port]);
    expect(second).toMatchObject({ code: 2, stdout: '' });
    expect(second.stderr).toMatch(
      new RegExp(`^error: the sandbox cannot listen on 127.0.0.1:${port} \\(EADDRINUSE\\)\n`),
    );
    await end();
  });
});
