import type { Writable } from 'node:stream';
import type { Environment } from '../config/load-settings.ts';

/** What a command may touch of the world outside. */
export type CommandContext = {
  environment: Environment;
  stdout: Writable;
  stderr: Writable;
  /** Whether standard error is a terminal: progress bars and coloured lines are for people only. */
  isTerminal: boolean;
  terminalColumns: number;
  /** Aborted by the first SIGINT or SIGTERM. */
  signal: AbortSignal;
  setExitCode(code: number): void;
};
