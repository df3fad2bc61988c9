import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { freshFolder } from '../mirror/open-test-mirror.ts';

const checkout = fileURLToPath(new URL('../..', import.meta.url));
/** npm's own variables of the run of these tests must not reach the npm that they start. */
const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], TMPDIR: process.env['TMPDIR'] };

/** Runs a script of the checkout from a folder. `before` are words before the `--`. */
function npmRun(cwd: string, before: readonly string[], args: readonly string[] = []) {
  const line = ['--prefix', checkout, 'run', '--silent', 'mirror', ...before, '--', ...args];
  const { status, stdout, stderr } = spawnSync('npm', line, { cwd, env, encoding: 'utf8' });
  return { code: status, stdout, stderr };
}

/** The processes whose arguments name a folder. */
function processesNaming(folder: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder);
    } catch {
      return false;
    }
  });
}

async function startSandbox(folder: string): Promise<ChildProcess> {
  const words = ['--prefix', checkout, 'run', '--silent', 'mirror', '--'];
  const child = spawn('npm', [...words, 'sandbox', '--persons', '3', '--dir', folder, '--json'], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(child.stdout, 'data');
  return child;
}

describe('what npm runs', () => {
  it.each(['SIGTERM', 'SIGKILL'] as const)('ends when npm gets %s', async (signal) => {
    const folder = join(freshFolder(), 'store');
    const npm = await startSandbox(folder);
    expect(processesNaming(folder).length).toBeGreaterThan(1);
    npm.kill(signal);
    await once(npm, 'exit');
    const deadline = Date.now() + 20_000;
    while (processesNaming(folder).length > 0 && Date.now() < deadline) await setTimeout(100);
    expect(processesNaming(folder)).toEqual([]);
  });

  it('finds files from where npm was called', () => {
    const folder = freshFolder();
    writeFileSync(join(folder, 'mirror.yaml'), 'persons: { pageSize: 123 }\n');
    const { code, stdout } = npmRun(folder, [], ['config', 'print', '--config', 'mirror.yaml', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ settings: { persons: { pageSize: 123 } } });
    const missing = npmRun(folder, [], ['config', 'print', '--config', 'none.yaml']);
    expect(missing).toMatchObject({ code: 2, stdout: '' });
    expect(missing.stderr).toContain(join(folder, 'none.yaml'));
  });

  it('is not run without an option that npm has taken for itself', () => {
    const taken = npmRun(freshFolder(), ['reconcile', '--dry-run']);
    expect(taken).toMatchObject({ code: 2, stdout: '' });
    expect(taken.stderr).toContain('error: npm has taken --dry-run for itself\n  write `--` before the command');
  });

  it('stays where it is when the script is another package’s', () => {
    const folder = freshFolder();
    const inner = join(folder, 'inner');
    mkdirSync(inner);
    const node = join(checkout, 'node_modules', '.bin', 'node');
    const line = `cd inner && "${existsSync(node) ? node : process.execPath}" "${checkout}src/main.ts" config print --config here.yaml`;
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ scripts: { mirror: line } }));
    writeFileSync(join(inner, 'here.yaml'), '{}\n');
    const { status } = spawnSync('npm', ['run', '--silent', 'mirror'], { cwd: folder, env, encoding: 'utf8' });
    expect(status).toBe(0);
    expect(dirname(inner)).toBe(folder);
  });
});
