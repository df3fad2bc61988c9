import type { Writable } from 'node:stream';
import type { Environment } from '../config/environment.ts';

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
  /** Does what cannot hear of a signal while it goes on. Until it is done, a signal ends the process by its own action. */
  letSignalsEnd<T>(work: () => T): T;
  setExitCode(code: number): void;
  /** Ends the process at once, for when something that was told to end does not. */
  exit(code: number): void;
};
