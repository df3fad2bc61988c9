import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { Writable, type Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { runProgram } from '../../src/cli/program.ts';

/** The main file of this program. */
export const mainScript = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
/** Starting takes half as long when Node keeps what it has compiled. */
const compileCache = fileURLToPath(new URL('../../node_modules/.cache/compile', import.meta.url));

/** No command may take longer unless its test says so: one that hangs fails its test instead of the whole run. */
const deadlineMs = 300_000;

/** How a command ended. `code` is null when a signal killed it. */
export type Ended = { code: number | null; stdout: string; stderr: string };

/**
 * Where a command runs: its whole environment, a shell line around it where limits are to be set, and how long it may
 * take.
 */
export type Surroundings = { env?: Record<string, string>; shell?: string; timeoutMs?: number };

/** The surroundings of a command, in an environment that what they add to it comes after. */
export function surroundedBy(env: Record<string, string>, { env: added, ...rest }: Surroundings = {}): Surroundings {
  return { ...rest, env: { ...env, ...added } };
}

/** A command that runs. */
export type Running = {
  child: ChildProcessByStdio<null, Readable, Readable>;
  /** Resolves with all that was written to the stream once it matches; rejects when the command ends before. */
  output: (stream: 'stdout' | 'stderr', pattern: RegExp) => Promise<string>;
  ended: Promise<Ended>;
};

/** Starts a script as a process of its own. `shell` may refer to it as `"$@"`. */
export function startScript(
  script: string,
  args: readonly string[],
  { env = {}, shell = 'exec "$@"', timeoutMs = deadlineMs }: Surroundings = {},
): Running {
  const child = spawn('/bin/sh', ['-c', shell, 'sh', process.execPath, script, ...args], {
    // Nothing else inherited: a developer's own MIRROR_* must not matter.
    env: { PATH: process.env['PATH'], TMPDIR: process.env['TMPDIR'], NODE_COMPILE_CACHE: compileCache, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  const written = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (chunk: string) => {
      written[stream] += chunk;
    });
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...written }));
  const output: Running['output'] = async (stream, pattern) => {
    while (!pattern.test(written[stream])) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`ended without ${pattern}: ${written.stderr}`);
      await Promise.race([once(child[stream], 'data'), ended]);
    }
    return written[stream];
  };
  return { child, output, ended };
}

/** Starts the command line as a process of its own. */
export function startCli(args: readonly string[], surroundings?: Surroundings): Running {
  return startScript(mainScript, args, surroundings);
}

/** Runs a script to its end, with arguments that are given later. */
export function runScript(script: URL): (args: readonly string[], surroundings?: Surroundings) => Promise<Ended> {
  return (args, surroundings) => startScript(fileURLToPath(script), args, surroundings).ended;
}

/**
 * Runs the command line to its end, in this process where nothing but the program reads what surrounds it: starting Node would take most
 * of the time.
 */
export function runCli(args: readonly string[], surroundings: Surroundings = {}): Promise<Ended> {
  const { env = {}, shell, timeoutMs } = surroundings;
  const isForProgram = Object.keys(env).every((name) => name.startsWith('MIRROR_'));
  const isPlain = shell === undefined && timeoutMs === undefined && isForProgram;
  return isPlain ? runCliHere(args, env) : startCli(args, surroundings).ended;
}

/** Runs the command line to its end in this process, where its modules are loaded. Nobody can interrupt it. */
export async function runCliHere(args: readonly string[], environment: Record<string, string> = {}): Promise<Ended> {
  const ended = { code: 0, stdout: '', stderr: '' };
  const collect = (stream: 'stdout' | 'stderr'): Writable =>
    new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        ended[stream] += chunk.toString('utf8');
        done();
      },
    });
  const setCode = (code: number): void => {
    ended.code = code;
  };
  await runProgram(args, {
    environment,
    stdout: collect('stdout'),
    stderr: collect('stderr'),
    isTerminal: false,
    logTo: { write: (line) => void (ended.stderr += line) },
    terminalColumns: 80,
    signal: new AbortController().signal,
    setExitCode: setCode,
    exit: setCode,
  });
  return ended;
}

/** The one JSON object that a command has printed. Throws when it printed anything else. */
export function jsonOf({ stdout }: Ended): unknown {
  if (!/^\{[^\n]*\}\n$/.test(stdout)) throw new Error(`not exactly one JSON object: ${stdout.slice(0, 200)}`);
  return JSON.parse(stdout);
}
