import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A page or another text that users read: its path from the repository's root, and its words. */
export type Page = { path: string; words: string };

export const repository = new URL('../', import.meta.url);

/** What a user reads: the pages at the top, everything in `docs/` but the verifier's program, vectors and certificates. */
export const texts: readonly Page[] = globSync(
  ['{README,CONTRIBUTING,CHANGELOG,SECURITY}.md', 'docs/**/*.{md,yaml,json,service}'],
  { cwd: fileURLToPath(repository) },
)
  .filter((path) => !/^docs\/(?:secrets|verifier\/(?:vectors|certificates))\//.test(path))
  .toSorted()
  .map((path) => ({ path, words: readFileSync(new URL(path, repository), 'utf8') }));

export const pages: readonly Page[] = texts.filter(({ path }) => path.endsWith('.md'));

/** The words of one text. Throws if there is none of that path. */
export function wordsOf(path: string): string {
  const text = texts.find((each) => each.path === path);
  if (!text) throw new Error(`No text ${path}`);
  return text.words;
}

/** The first group of each match, each once. */
export function found(words: string, pattern: RegExp): string[] {
  return [...new Set([...words.matchAll(pattern)].map(([, match]) => match ?? ''))];
}
