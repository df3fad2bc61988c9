import type { CommanderError } from 'commander';
import { AppError, type ErrorCode, usageError } from '../core/errors.ts';
import { explainStorageError } from '../core/storage-error.ts';

/** The exit codes that a command can end with. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  incomplete: 4,
  busy: 5,
  interrupted: 130,
} as const;

const exits: Readonly<Record<ErrorCode, keyof typeof exitCodes>> = {
  usage: 'usage',
  refused: 'refused',
  quota: 'refused',
  busy: 'busy',
  interrupted: 'interrupted',
  service: 'failed',
  oversize: 'failed',
  unreachable: 'failed',
  rejected: 'failed',
  storage: 'failed',
};

/** The exit code for an error: 1 for every error that is not an `AppError`. */
export function exitCodeOf(error: unknown): number {
  return exitCodes[error instanceof AppError ? exits[error.code] : 'failed'];
}

/** The error that a signal ends a command with. */
export function interruptedError(): AppError {
  return new AppError('interrupted', { code: 'interrupted', hint: 'run it again to go on where it stopped' });
}

/** The error that a command ended with, as an `AppError` where it can be explained. `where` is the data folder. */
export function explainError(error: unknown, where: string): unknown {
  return error instanceof AppError ? error : (explainStorageError(error, where) ?? error);
}

/** The error for a command line that cannot be read. Surplus arguments are not repeated: they may be data. */
export function explainCommandLine({ code, message }: CommanderError): AppError {
  const isHelp = code === 'commander.help';
  const words = message.replace(/^error: /, '').replace(/(Expected \d+ arguments? but got \d+): .*$/s, '$1');
  return usageError(isHelp ? 'no command is given' : words, 'add --help for help');
}

/** An error as it is shown. The message of a foreign error may hold personal data, so only its name is shown. */
export function presentError(error: unknown): { code: string; message: string; hint: string | null } {
  if (error instanceof AppError) return { code: error.code, message: error.message, hint: error.hint ?? null };
  const name = error instanceof Error ? error.name : 'an unknown error';
  return {
    code: 'unexpected',
    message: `this should not have happened (${name})`,
    hint: 'run it again with --log-level debug to see where, and report it',
  };
}

/** The call sites of an error and of its causes, without their messages, which may hold personal data. */
export function traceError(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const sites = (error.stack ?? '').split('\n').filter((line) => line.startsWith('    at '));
  return `${[error.name, ...sites].join('\n')}\n${traceError(error.cause)}`;
}
