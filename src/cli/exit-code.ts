import { AppError, assertNever } from '../core/errors.ts';

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

/** The exit code for an error: 1 for everything that is not one of ours. */
export function exitCodeOf(error: unknown): number {
  if (!(error instanceof AppError)) return exitCodes.failed;
  switch (error.code) {
    case 'usage':
      return exitCodes.usage;
    case 'refused':
      return exitCodes.refused;
    case 'busy':
      return exitCodes.busy;
    case 'interrupted':
      return exitCodes.interrupted;
    case 'service':
    case 'oversize':
    case 'unreachable':
    case 'rejected':
    case 'storage':
      return exitCodes.failed;
    default:
      return assertNever(error.code);
  }
}
