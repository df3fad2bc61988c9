import { globSync, readFileSync } from 'node:fs';
import { createContext, Script } from 'node:vm';
import { parseAst } from 'vitest/node';
import { samplesOf } from './expression-samples.ts';

/** A regular expression in a source file. */
export type Expression = { path: string; pattern: string; flags: string };

const root = new URL('../', import.meta.url);

/** The programs that read texts from outside: this one, and the verifier that others run. */
export const sources = globSync(['src/**/*.ts', 'docs/verifier/*.mjs'], { cwd: root }).map((path) => ({
  path,
  text: readFileSync(new URL(path, root), 'utf8'),
}));

/** The regular expressions of a file: those that stand in it, and how often it makes one from texts. */
type FileExpressions = { path: string; literals: Expression[]; made: number };

/** Reads the syntax of a source file for its regular expressions. */
export function expressionsOf({ path, text }: { path: string; text: string }): FileExpressions {
  const literals: Expression[] = [];
  let made = 0;
  const open: unknown[] = [parseAst(text, { lang: 'ts' })];
  while (open.length > 0) {
    const node = open.pop();
    if (typeof node !== 'object' || node === null) continue;
    open.push(...Object.values(node));
    const { type, regex, callee } = node as { type?: string; regex?: Expression; callee?: { name?: string } };
    if (type === 'Literal' && regex) literals.push({ path, pattern: regex.pattern, flags: regex.flags });
    if (type !== undefined && callee?.name === 'RegExp') made += 1;
  }
  return { path, literals, made };
}

/** A text is so long, and a part is repeated so often, that a cost that grows with the square shows. */
const length = { repeats: 12_000, charactersMin: 40_000, charactersMax: 400_000 };
/** What searches of some such texts may take. Linear ones take a tenth of it; the square of the length, many times of it. */
const searchMaxMs = 100;
const attempts = 4;

/** A text: its beginning, a part that is repeated until the text is long, and its end. */
type Attack = { head: string; pump: string; tail: string };

/**
 * Texts on which a regular expression may have to look at each character again and again: what it matches, with a part of that
 * repeated, and an end that does not match.
 */
function attacksOn({ pattern, flags }: Pick<Expression, 'pattern' | 'flags'>): Attack[] {
  const found = new Map<string, Attack>();
  const add = (head: string, pump: string, tail: string): void => {
    if (pump !== '') found.set(`${head}\0${pump}\0${tail}`, { head, pump, tail });
  };
  const samples = samplesOf(pattern, flags, 16);
  for (const { text, repeats } of samples) {
    add('', text, '\0');
    for (const { from, to } of repeats) {
      // The search begins anew at each place where the expression could.
      add('', text.slice(0, from), '\0');
      add('', text.slice(0, to), '\0');
      for (const head of ['', text.slice(0, from)])
        for (const tail of ['\0', text.slice(to)]) {
          add(head, text.slice(from, to), tail);
          add(head, text.slice(Math.max(0, from - 1), to), tail);
          add(head, text.slice(from, to + 1), tail);
        }
    }
  }
  const characters = [...new Set(samples.map(({ text }) => text.slice(0, 60)).join(''))].slice(0, 16);
  for (const first of characters) for (const second of characters) add('', first + second, '\0');
  return [...found.values()];
}

const realm = createContext({ expression: /x/, attacks: [] as Attack[] });
const search = new Script(`
  for (const { head, pump, tail } of attacks) {
    const length = Math.min(Math.max(pump.length * ${length.repeats}, ${length.charactersMin}), ${length.charactersMax});
    const text = head + pump.repeat(Math.ceil(length / pump.length)) + tail;
    text.replace(expression, '');
    expression.test(text);
  }`);

/** Whether searches of these texts take too long each time. They are stopped: some would take days. */
function areSlow(expression: RegExp, attacks: readonly Attack[]): boolean {
  Object.assign(realm, { expression, attacks });
  for (let attempt = 0; attempt < attempts; attempt += 1)
    try {
      search.runInContext(realm, { timeout: searchMaxMs });
      return false;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    }
  return true;
}

const attacksAtOnce = 10;

/** The first text on which the expression takes too long, in words; undefined if there is none. */
export function attackOn({ pattern, flags }: Pick<Expression, 'pattern' | 'flags'>): string | undefined {
  const expression = new RegExp(pattern, flags);
  const all = attacksOn({ pattern, flags });
  for (let at = 0; at < all.length; at += attacksAtOnce) {
    const attacks = all.slice(at, at + attacksAtOnce);
    const slow = areSlow(expression, attacks) && attacks.find((attack) => areSlow(expression, [attack]));
    if (slow) return JSON.stringify(slow);
  }
  return undefined;
}
