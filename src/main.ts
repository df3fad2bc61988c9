import './start-up.ts';
import process from 'node:process';
import { AppError, systemCode } from './core/errors.ts';
import { exitCodes } from './cli/errors.ts';

// Only the owner may read the files that are written, also those that DuckDB writes.
process.umask(0o077);

const interruption = new AbortController();
let signals = 0;
const onSignal = (): void => {
  signals += 1;
  if (signals > 1) process.exit(exitCodes.interrupted);
  interruption.abort(
    new AppError('interrupted', { code: 'interrupted', hint: 'run it again to go on where it stopped' }),
  );
};
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, onSignal);

process.stdout.on('error', (error) => {
  // A reader such as `head` closes the pipe when it has enough; that is no error.
  if (systemCode(error) === 'EPIPE') process.exit();
  process.stderr.write(`error: standard output cannot be written (${systemCode(error) ?? error.name})\n`);
  process.exit(exitCodes.failed);
});
process.stderr.on('error', () => undefined);

// Loaded after `start-up.ts` has run: only what is loaded then comes from the compile cache.
const { runProgram } = await import('./cli/program.ts');
await runProgram(process.argv.slice(2), {
  environment: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  isTerminal: process.stderr.isTTY,
  terminalColumns: process.stderr.columns,
  signal: interruption.signal,
  setExitCode: (code) => {
    process.exitCode = code;
  },
  exit: (code) => process.exit(code),
});
