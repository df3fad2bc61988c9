import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { pointText, type Execution, type KillPoint } from './kill-point.ts';
import type { Ended, Surroundings } from './run-cli.ts';

/** Runs a command; its last arguments name the data folder. */
type RunCommand = (args: readonly string[], surroundings: Surroundings) => Promise<Ended>;

const preload = new URL('kill-point-child.ts', import.meta.url).href;

function watched(env: Record<string, string>): Surroundings {
  return { env: { NODE_OPTIONS: `--import ${preload}`, ...env } };
}

/** Runs a command to its end. Returns what it executed; `file` is where it tells so. */
export async function recordRun(
  run: RunCommand,
  args: readonly string[],
  file: string,
): Promise<Execution[]> {
  const ended = await run(args, watched({ CRASH_REHEARSAL: file }));
  expect(ended).toMatchObject({ code: expect.toBeOneOf([0, 4]), stderr: '' });
  return JSON.parse(readFileSync(file, 'utf8')) as Execution[];
}

/** Runs a command that dies at a point. Throws unless it did. */
export async function killRun(run: RunCommand, args: readonly string[], point: KillPoint): Promise<void> {
  if (!(await diesAt(run, args, point))) throw new Error(`not killed ${pointText(point)}`);
}

/** Whether a command dies at a point: false when it ends well without coming there. Throws when it ends otherwise. */
export async function diesAt(run: RunCommand, args: readonly string[], point: KillPoint): Promise<boolean> {
  const { code, stderr } = await run(args, watched({ CRASH_POINT: JSON.stringify(point) }));
  if (code === null && stderr === `killed ${pointText(point)}\n`) return true;
  if ((code === 0 || code === 4) && stderr === '') return false;
  throw new Error(`not killed ${pointText(point)}, but ended with ${code}: ${stderr}`);
}

/** Runs a command whose nth process of that name is killed. Returns how the command ended. */
export function killStarted(
  run: RunCommand,
  args: readonly string[],
  file: string,
  nth: number,
): Promise<Ended> {
  const point: KillPoint = { statement: `start ${file}`, nth, moment: 'within' };
  return run(args, watched({ CRASH_POINT: JSON.stringify(point) }));
}
