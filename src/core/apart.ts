import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import process from 'node:process';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { deserialize, serialize } from 'node:v8';
import { AppError, systemCode, type ErrorCode } from './errors.ts';
import { explainStorageError } from './storage-error.ts';

/** What a process answers: its result, or why there is none, without the words of an error, which may hold personal data. */
type Answer = { result: unknown } | { failed: { message: string; code: ErrorCode; hint: string | undefined } };

/** How a part of this program is run. `signal` ends it at once. */
type Apart = {
  signal: AbortSignal;
  /** What is run, as the subject of a sentence. */
  what: string;
  /** Flags of Node. */
  flags?: readonly string[];
  /** How long it may take at most. */
  timeoutMs?: number;
  /** Is asked ten times a second; the process is ended with the error that it returns. */
  overLimit?: ((pid: number) => AppError | undefined) | undefined;
};

const lookEveryMs = 100;
const answerBytesMax = 256 * 1024 * 1024;

/**
 * Runs a file of this program, which calls `answerApart`, as a process. Its environment names the cache of compiled code and nothing
 * else. It gets `lines` on standard input: every user of the machine can read arguments. Resolves to its result; that process is
 * gone then. Rejects with its failure, with the signal's reason, with what `overLimit` returns, and with `storage` where it cannot be
 * started or ends without an answer.
 */
export async function runApart(
  file: string,
  lines: Iterable<string>,
  { signal, what, flags = [], timeoutMs = Infinity, overLimit = () => undefined }: Apart,
): Promise<unknown> {
  signal.throwIfAborted();
  const cache = getCompileCacheDir();
  // Node names a folder of its version in the one that it is given.
  const env = cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) };
  const child = spawn(process.execPath, [...flags, file], { env, stdio: ['pipe', 'pipe', 'ignore'] });
  let reason: unknown;
  const end = (because: unknown): void => {
    reason ??= because;
    child.kill('SIGKILL');
  };
  const onAbort = (): void => end(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const endsAtMs = performance.now() + timeoutMs;
  using _looking = setInterval(() => {
    const because = performance.now() > endsAtMs ? endedEarly(what) : overLimit(child.pid ?? 0);
    if (because) end(because);
  }, lookEveryMs);
  try {
    const [, answer] = await Promise.all([
      once(child, 'close').catch((cause: unknown) => {
        throw new AppError(`${what} cannot be started (${systemCode(cause) ?? 'unknown'})`, {
          code: 'storage',
          hint: 'a program that was replaced while it runs has to be started again',
          cause,
        });
      }),
      readAnswer(child.stdout, () => child.kill('SIGKILL')),
      // It can end before it has read all.
      pipeline(Readable.from(lines), child.stdin).catch(() => undefined),
    ]);
    if (answer === undefined) throw reason ?? endedEarly(what);
    if ('result' in answer) return answer.result;
    const { message, ...detail } = answer.failed;
    throw new AppError(message, detail);
  } finally {
    signal.removeEventListener('abort', onAbort);
    child.kill('SIGKILL');
  }
}

/** The whole answer; undefined where the process has ended before it, or it has become too long. */
async function readAnswer(stream: Readable, kill: () => void): Promise<Answer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += (chunk as Buffer).length;
    if (bytes > answerBytesMax) kill();
    else chunks.push(chunk as Buffer);
  }
  try {
    return deserialize(Buffer.concat(chunks)) as Answer;
  } catch {
    return undefined;
  }
}

function endedEarly(what: string): AppError {
  return new AppError(`${what} was ended before it had a result`, {
    code: 'storage',
    hint: 'run it again; `doctor` checks the data folder',
  });
}

/** Works in a process that `runApart` has started, and answers. `what` is the work in words; `where`, the place of what it reads. */
export async function answerApart(
  what: string,
  work: () => Promise<unknown>,
  where = 'the data folder',
): Promise<void> {
  const answer = (told: Answer): void => void process.stdout.write(serialize(told));
  const fail = (error: unknown): void => {
    const known = error instanceof AppError ? error : explainStorageError(error, where);
    const name = systemCode(error) ?? (error instanceof Error ? error.name : 'unknown');
    const { message, code, hint } =
      known ?? new AppError(`${what} failed (${name})`, { code: 'storage', hint: 'run `analytics-mirror doctor`' });
    process.exitCode = 1;
    answer({ failed: { message, code, hint } });
  };
  process.on('uncaughtException', fail);
  // The process that asked may have been killed. Then nobody reads the answer.
  process.stdout.on('error', () => undefined);
  try {
    answer({ result: await work() });
  } catch (error) {
    fail(error);
  }
}
