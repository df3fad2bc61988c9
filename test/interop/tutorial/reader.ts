import process from 'node:process';
import type { Ended, Machine } from './machine.ts';

/** Somebody who types lines of the pages, and sees whether each does what the page says. */
export type Reader = {
  /** Types a line: as the page has it, but for what stands in the table of replacements. Throws if it ends otherwise. */
  type(line: string, options?: TypeOptions): Ended;
  /** Types lines one after the other. */
  typeAll(lines: readonly string[], options?: TypeOptions): void;
  /** What is typed in place of `analytics-mirror` from now on. */
  typeInstead(words: string): void;
  /** How many lines were typed. */
  typed(): number;
  /** Lines of which something was expected, and which were never typed. */
  untyped(): string[];
};

type TypeOptions = {
  stdin?: string;
  /** The exit code that the page lets one expect. */
  ends?: number;
};

/** What of a page is replaced, by what it has there. */
export type Replacements = readonly (readonly [RegExp, () => string])[];

/** What has to be printed where a line is typed, by the beginning of the line. */
export type Expected = readonly { line: string; prints: (stdout: string) => boolean }[];

/** A command of this program at the beginning of a command of the shell. */
const command = /(?<=^|\| |&& |\|\| |\()analytics-mirror (?=[a-z-])/gm;

export function openReader(machine: Machine, replacements: Replacements, expected: Expected): Reader {
  let instead = 'analytics-mirror';
  let typed = 0;
  const untyped = new Set(expected.map(({ line }) => line));
  const type = (line: string, { stdin = '', ends = 0 }: TypeOptions = {}): Ended => {
    const replaced = replacements.reduce((words, [from, to]) => words.replace(from, to), line);
    const whole = replaced.replaceAll(command, `${instead} `);
    process.stdout.write(`$ ${whole.replaceAll('\n', '\n> ')}\n`);
    typed += 1;
    const began = performance.now();
    const ended = machine.type(whole, {
      stdin,
      reachesRegistry: /\bnpm (?:ci|install|pack)\b|docker build/.test(whole),
    });
    const seconds = (performance.now() - began) / 1000;
    if (seconds > 5) process.stdout.write(`  (${seconds.toFixed(0)} s)\n`);
    // A job of the worker has the data folder: the program says what to type then.
    if (ended.code === 5 && ended.stderr.includes('or add --wait'))
      return type(`${line.replace(/ +#.*/, '')} --wait`, { stdin, ends });
    const wanted = expected.filter((each) => line.startsWith(each.line));
    for (const each of wanted) untyped.delete(each.line);
    if (ended.code === ends && wanted.every(({ prints }) => prints(ended.stdout))) return ended;
    const what =
      ended.code === ends ? 'printed something else than the page says' : `ended with ${ended.code}, not ${ends}`;
    throw new Error(`This ${what}:\n${whole}\n${ended.stdout}${ended.stderr}`);
  };
  return {
    type,
    typeAll: (lines, options) => {
      for (const line of lines) type(line, options);
    },
    typeInstead: (words) => {
      instead = words;
    },
    typed: () => typed,
    untyped: () => [...untyped],
  };
}
