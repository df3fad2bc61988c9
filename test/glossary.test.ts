import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { repository, wordsOf } from './pages.ts';

/** The rows of the glossary's tables: the word, and the file where it lives. */
const rows = wordsOf('docs/glossary.md')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| word |'))
  .map((line) => ({ word: line.split(' | ')[0]?.slice(2), file: /`((?:src|test)\/[^`]+)` \|$/.exec(line)?.[1] }));

it('each word of the glossary stands once and names a file that exists', () => {
  expect(rows.length).toBeGreaterThan(40);
  const words = rows.map(({ word }) => word);
  expect(words.filter((word, index) => words.indexOf(word) !== index)).toEqual([]);
  const homeless = rows.filter(({ file }) => file === undefined || !existsSync(new URL(file, repository)));
  expect(homeless).toEqual([]);
});
