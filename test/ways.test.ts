import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { repository, wordsOf } from './pages.ts';

/** The ways that docs/architecture.md lists, by the beginning of their headings, and how many files each may take. */
const ways = [
  { heading: 'The way of a person', filesMax: 30 },
  { heading: 'On a first pass', filesMax: 2, after: 'The way of a person' },
  { heading: 'From `erase add`', filesMax: 27 },
  { heading: 'From `reconcile`', filesMax: 44, after: 'From `erase add`' },
  { heading: 'The way of a scheduled job', filesMax: 8 },
];

/** What puts the parts together: a way may go on with what one of these has given to it. */
const assembly = ['app/app.ts', 'app/project-service.ts', 'worker/worker-project.ts'];

const architecture = wordsOf('docs/architecture.md');

/** The files of a way, each once, as paths below `src/`. */
function filesOf(heading: string): string[] {
  const sections = architecture.split(/^#+ /m);
  const section = sections.find((words) => words.startsWith(heading)) ?? '';
  const steps = section.split('\n').filter((line) => /^(?:\d+\.| {3})/.test(line));
  return [...new Set(steps.join('\n').match(/(?<=`)[a-z][\w/-]*\.ts(?=`)/g))];
}

function sourceOf(path: string): string {
  return readFileSync(new URL(`src/${path}`, repository), 'utf8');
}

/** Whether one file imports the other, statically or not. The program loads its commands by their names. */
function imports(from: string, to: string): boolean {
  if (from === 'cli/program.ts' && to.startsWith('cli/commands/')) return true;
  const names = [...sourceOf(from).matchAll(/'(\.{1,2}\/[^']+\.ts)'/g)].map(([, name = '']) => name);
  return names.some((name) => new URL(name, `file:///${from}`).pathname === `/${to}`);
}

describe.each(ways)('$heading', ({ heading, filesMax, after }) => {
  const before = after === undefined ? [] : filesOf(after);
  const files = filesOf(heading).filter((path) => !before.includes(path));

  it(`takes at most ${filesMax} files, as the heading says, and all exist`, () => {
    const [, told] = new RegExp(`^#+ ${heading}.*\\((\\d+) (?:files|more)\\)$`, 'm').exec(architecture) ?? [];
    expect(files).toHaveLength(Number(told));
    expect(files.filter((path) => !existsSync(new URL(`src/${path}`, repository)))).toEqual([]);
    expect(files.length).toBeLessThanOrEqual(filesMax);
  });

  it('goes from file to file: each is imported by, or imports, one that came before', () => {
    const strangers = files.filter((path, index) => {
      const earlier = [...before, ...files.slice(0, index)];
      return index > 0 && ![...earlier, ...assembly].some((other) => imports(other, path) || imports(path, other));
    });
    expect(strangers).toEqual([]);
  });
});
