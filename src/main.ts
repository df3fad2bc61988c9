import './node-version.ts';
import process from 'node:process';
import { AppError } from './core/errors.ts';
import { runProgram } from './cli/program.ts';

const interruption = new AbortController();
let signals = 0;
const onSignal = (): void => {
  signals += 1;
  if (signals > 1) process.exit(130);
  interruption.abort(
    new AppError('interrupted', { code: 'interrupted', hint: 'run it again to go on where it stopped' }),
  );
};
process.on('SIGINT', onSignal);
process.on('SIGTERM', onSignal);

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
});
