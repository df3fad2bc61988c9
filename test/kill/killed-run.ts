import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { Ended, Surroundings } from '../cli/run-cli.ts';
import { pointText, type Execution, type KillPoint } from './kill-point.ts';

/** Runs a command, or a script whose last argument is the folder that it works on. */
export type RunArgs = (args: readonly string[], surroundings: Surroundings) => Promise<Ended>;

const preload = new URL('kill-child.ts', import.meta.url).href;

function watched(env: Record<string, string>): Surroundings {
  return { env: { NODE_OPTIONS: `--import ${preload}`, ...env } };
}

/** Runs to the end. Returns what was executed; `file` is where the process writes it. */
export async function recordRun(run: RunArgs, args: readonly string[], file: string): Promise<Execution[]> {
  const ended = await run(args, watched({ KILL_RECORD: file }));
  expect(ended).toMatchObject({ code: expect.toBeOneOf([0, 4]), stderr: '' });
  return JSON.parse(readFileSync(file, 'utf8')) as Execution[];
}

/** Runs up to a point, where the process is killed. Throws unless it was. */
export async function killRun(run: RunArgs, args: readonly string[], point: KillPoint): Promise<void> {
  if (!(await runUpTo(run, args, point)).isKilled) throw new Error(`not killed ${pointText(point)}`);
}

/**
 * Runs up to a point, where the process is killed, or to the end, if it never comes to the point. Throws if it ends in any
 * other way.
 */
export async function runUpTo(
  run: RunArgs,
  args: readonly string[],
  point: KillPoint,
): Promise<{ isKilled: boolean; stdout: string }> {
  const { code, stdout, stderr } = await run(args, watched({ KILL_POINT: JSON.stringify(point) }));
  if (code === null && stderr === `killed ${pointText(point)}\n`) return { isKilled: true, stdout };
  if ((code === 0 || code === 4) && stderr === '') return { isKilled: false, stdout };
  throw new Error(`not killed ${pointText(point)}, but ended with ${code}: ${stderr}`);
}

/** Runs to the end, while the nth process that it starts from a file is killed. Returns how the run ended. */
export function killStarted(run: RunArgs, args: readonly string[], file: string, nth: number): Promise<Ended> {
  const point: KillPoint = { operation: `start ${file}`, nth, moment: 'within' };
  return run(args, watched({ KILL_POINT: JSON.stringify(point) }));
}
