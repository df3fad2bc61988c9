import process from 'node:process';
import { createInterface } from 'node:readline/promises';
import { AppError } from '../core/errors.ts';
import { interruptedError } from './errors.ts';

/** Asks a person; an empty answer is the suggestion. Throws `interrupted` where the person ends it with Ctrl-C or Ctrl-D. */
export async function ask(
  question: string,
  suggestion: string,
  signal: AbortSignal,
  input: NodeJS.ReadableStream = process.stdin,
): Promise<string> {
  using terminal = createInterface({ input, output: process.stderr });
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => undefined);
  terminal.once('close', () => ended.reject(interruptedError()));
  try {
    const asked = terminal.question(`${question}${suggestion === '' ? '' : ` [${suggestion}]`}: `, { signal });
    const answer = await Promise.race([asked, ended.promise]);
    return answer.trim() || suggestion;
  } catch (error) {
    throw error instanceof Error && error.name === 'AbortError' ? interruptedError() : error;
  }
}

/** Asks until `read` takes the answer. Where it throws an `AppError`, `say` is told why, and the question comes again. */
export async function askUntilRead<T>(
  asking: () => Promise<string>,
  read: (answer: string) => T,
  say: (text: string) => void,
): Promise<T> {
  for (;;) {
    const answer = await asking();
    try {
      return read(answer);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      say(`${error.message}\n`);
    }
  }
}
