#!/usr/bin/env node
import './start-up.ts';
import { fstatSync, writeFileSync } from 'node:fs';
import process from 'node:process';

// Loaded after `start-up.ts` has run: an older Node could not read these modules, and only now are they kept compiled.
const { exitCodes, interruptedError } = await import('./cli/errors.ts');
const { standWhereNpmWasCalled, whenNpmIsGone } = await import('./cli/npm.ts');

// Only the owner may read the files that are written, also those that DuckDB writes.
process.umask(0o077);

const interruption = new AbortController();
let signals = 0;
const onSignal = (): void => {
  signals += 1;
  if (signals > 1) process.exit(exitCodes.interrupted);
  interruption.abort(interruptedError());
};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, onSignal);
standWhereNpmWasCalled(process.env);
whenNpmIsGone(process.env, () => {
  if (signals === 0) onSignal();
});

// Into a file Node writes once, and says nothing of what a disk that is full by then has not taken.
if (fstatSync(process.stdout.fd).isFile())
  process.stdout._write = (chunk: Buffer, _encoding, done) => {
    try {
      writeFileSync(process.stdout.fd, chunk);
      done();
    } catch (error) {
      done(error as Error);
    }
  };
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader such as `head` closes the pipe when it has enough; that is no error, and no reason to end what works.
  if (error.code === 'EPIPE') return;
  process.stderr.write(`error: standard output cannot be written (${error.code ?? error.name})\n`);
  process.exitCode = exitCodes.failed;
});
process.stderr.on('error', () => undefined);

const { runProgram } = await import('./cli/program.ts');
await runProgram(process.argv.slice(2), {
  environment: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  isTerminal: process.stderr.isTTY && process.env['TERM'] !== 'dumb',
  // A terminal can be resized, and a serial line says 0.
  get terminalColumns() {
    return process.stderr.columns || 80;
  },
  signal: interruption.signal,
  setExitCode: (code) => {
    process.exitCode = code;
  },
  exit: (code) => process.exit(code),
});
// A signal has ended all work. Whatever is still open by a fault of the program, the process ends.
if (signals > 0) setTimeout(() => process.exit(), 5_000).unref();
