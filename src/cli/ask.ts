import process from 'node:process';
import { createInterface } from 'node:readline/promises';

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
