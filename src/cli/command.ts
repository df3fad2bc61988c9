import type { Writable } from 'node:stream';
import type { Command } from 'commander';
import type { App } from '../app/app.ts';
import type { AppSurroundings } from '../app/shared-parts.ts';
import { stringifyExactJson } from '../core/exact-json.ts';
import { printableJson, printableLines } from '../core/words.ts';
import { exitCodes, explainError } from './errors.ts';
import type { GlobalOptions } from './global-options.ts';

/** The world outside, as far as a command may use it. */
export type CommandContext = Pick<AppSurroundings, 'environment' | 'isTerminal' | 'logTo'> & {
  stdout: Writable;
  stderr: Writable;
  readonly terminalColumns: number;
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP. */
  signal: AbortSignal;
  setExitCode(code: number): void;
  /** Ends the process at once: for a job that does not end although it was aborted. */
  exit(code: number): void;
};

/** The result of a command: one object for programs, and the same as text for people. `ended`: its exit code, where that is not 0. */
export type CommandResult = { json: object; text: string; ended?: 'done' | 'incomplete' | 'failed' };

/**
 * What a command does, with the program or by itself, and what its help says last. Both get the arguments, then the options. `runAll`:
 * what it does where several projects are configured and none is named.
 */
export type CommandAction = { help: string } & (
  | {
      run: (app: App, ...given: never[]) => Promise<CommandResult> | CommandResult;
      runAll?: (apps: readonly App[], ...given: never[]) => Promise<CommandResult>;
    }
  | { act: (...given: never[]) => Promise<void> }
);

/** Prints a command's result on standard output, as text or as JSON, and sets its exit code. Nothing in it can steer a terminal. */
export function printResult(
  context: CommandContext,
  command: Command,
  { json, text, ended = 'done' }: CommandResult,
): void {
  if (ended !== 'done') context.setExitCode(exitCodes[ended]);
  const { json: asJson } = command.optsWithGlobals<GlobalOptions>();
  context.stdout.write(asJson ? `${printableJson(stringifyExactJson(json))}\n` : printableLines(text));
}

/** Works with the program and then closes it. A failure of the disk is rejected as an error that explains it. */
export async function withApp<T>(app: App, use: () => Promise<T>): Promise<T> {
  await using own = app;
  try {
    return await use();
  } catch (error) {
    throw explainError(error, own.settings.dataDir);
  }
}
