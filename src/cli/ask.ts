import process from 'node:process';
import { createInterface } from 'node:readline/promises';
import { AppError } from '../core/errors.ts';

/** Asks a person; an empty answer is the suggestion. Rejects with the signal's reason. */
export async function ask(question: string, suggestion: string, signal: AbortSignal): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${question}${suggestion === '' ? '' : ` [${suggestion}]`}: `, { signal });
    return answer.trim() || suggestion;
  } finally {
    terminal.close();
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
