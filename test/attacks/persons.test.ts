import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { found, wordsOf } from '../pages.ts';

/** What each person does, by the names of the tests. A name with `: %s` stands for several. */
function testedIn(path: string): string[] {
  const words = readFileSync(path, 'utf8');
  const single = found(words, /^it\((?:'([^']+)'|"[^"]+")/gm);
  const quoted = found(words, /^it\("([^"]+)"/gm);
  const listed = found(words, /^it\.each\(\[([^\]]+)\]\)\('%s'/gm).flatMap((list) => found(list, /'([^']+)'/g));
  const many = found(words, /\]\)\('([^']+): %s'/g);
  return [...single, ...quoted, ...listed, ...many].filter((name) => name !== '');
}

/** The first cells of the tables of docs/security.md that say what each can do. */
function listedIn(words: string): string[] {
  const [, section = ''] = words.split(/^## What each can do$/m);
  const [own = ''] = section.split(/^## /m);
  return found(own, /^\| ([^|]+) \|/gm)
    .filter((cell) => !/^(?:who |-)/.test(cell))
    .flatMap((cell) => cell.split(' · '));
}

it('each row of the table of persons is shown by a test of its name, and each such test has a row', () => {
  const tested = globSync('test/attacks/*.cluster.test.ts').flatMap(testedIn);
  expect(tested.length).toBeGreaterThan(25);
  expect(new Set(listedIn(wordsOf('docs/security.md')))).toEqual(new Set(tested));
});

it('a row without a test is caught', () => {
  const words =
    '## What each can do\n| who has | can |\n|---|---|\n| reads all · forges it | **all** |\n## More\n| other | x |';
  expect(listedIn(words)).toEqual(['reads all', 'forges it']);
});
