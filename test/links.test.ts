import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { found, pages, repository, type Page } from './pages.ts';

// The way from a key to production is one page, and has to be.
const bytesMax = 9_000;
const readmeBytesMax = 10_000;

/** The names that GitHub gives to the headings of a page. */
function anchorsOf(words: string): string[] {
  return found(withoutCode(words), /^#+ (.+)$/gm).map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

function withoutCode(words: string): string {
  return words.replaceAll(/^ *```.*?^ *```/gms, '');
}

/** The links of a page to other files of the repository, as path and anchor. */
function linksOf({ path, words }: Page): { target: string; anchor: string }[] {
  return found(withoutCode(words), /\]\(([^)\s]+)\)/g)
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => {
      const url = new URL(link, new URL(path, 'file:///'));
      return { target: url.pathname.slice(1), anchor: url.hash.slice(1) };
    });
}

/** The links of a page that lead nowhere, in words. */
function brokenLinks(page: Page): string[] {
  return linksOf(page).flatMap(({ target, anchor }) => {
    if (!existsSync(new URL(target, repository))) return [`${page.path}: no file ${target}`];
    if (anchor === '') return [];
    const words = target === page.path ? page.words : pages.find(({ path }) => path === target)?.words;
    return anchorsOf(words ?? '').includes(anchor) ? [] : [`${page.path}: no heading ${target}#${anchor}`];
  });
}

/** The pages to which links lead from a page, itself included. */
function reachableFrom(start: string): Set<string> {
  const reached = new Set<string>();
  const visit = (path: string): void => {
    const page = pages.find((each) => each.path === path);
    if (!page || reached.has(path)) return;
    reached.add(path);
    for (const { target } of linksOf(page)) visit(target);
  };
  visit(start);
  return reached;
}

function isTooLong({ path, words }: Page): boolean {
  const bytes = Buffer.byteLength(words);
  if (path === 'README.md') return bytes > readmeBytesMax;
  return path.startsWith('docs/') && bytes >= bytesMax;
}

describe('the pages', () => {
  it('are read', () => {
    expect(pages.length).toBeGreaterThan(20);
    expect(pages.flatMap(linksOf).length).toBeGreaterThan(50);
  });

  it('have links to files and headings that exist', () => {
    expect(pages.flatMap(brokenLinks)).toEqual([]);
  });

  it('can all be reached from the README', () => {
    const reached = reachableFrom('README.md');
    expect(pages.map(({ path }) => path).filter((path) => !reached.has(path))).toEqual([]);
  });

  it('are short: the README has at most 10 kB, every page in docs/ less than 9 kB', () => {
    expect(pages.filter(isTooLong).map(({ path }) => path)).toEqual([]);
  });

  it('are short together: docs/ has less than 200 kB, of which the author of a verifier reads less than 26.2 kB', () => {
    const bytesOf = (folder: string): number =>
      pages.filter(({ path }) => path.startsWith(folder)).reduce((sum, { words }) => sum + Buffer.byteLength(words), 0);
    expect(bytesOf('docs/')).toBeLessThan(200_000);
    expect(bytesOf('docs/verifier/')).toBeLessThan(26_200);
  });

  it.each([
    ['a missing file', '[a](no-page.md)'],
    ['a missing heading', '[a](data.md#no-heading)'],
    ['a missing heading of the same page', '# One\n[a](#two)'],
  ])('a link to %s is caught', (_what, words) => {
    expect(brokenLinks({ path: 'docs/planted.md', words })).toHaveLength(1);
  });

  it('a page that is too long is caught, and links in code are no links', () => {
    expect(isTooLong({ path: 'docs/planted.md', words: 'é'.repeat(bytesMax / 2) })).toBe(true);
    expect(isTooLong({ path: 'README.md', words: 'é'.repeat(bytesMax / 2) })).toBe(false);
    expect(linksOf({ path: 'docs/planted.md', words: '```\n[a](b.md)\n```' })).toEqual([]);
  });
});
