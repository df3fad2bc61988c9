import { readFileSync } from 'node:fs';

const repository = new URL('../../../', import.meta.url);

/** The words of a page of this repository. */
export function readPage(path: string): string {
  return readFileSync(new URL(path, repository), 'utf8');
}

/** A section of a page, from its heading to the next one of its level or above. Throws if there is no such heading. */
export function sectionOf(words: string, heading: string): string {
  const [before, rest] = words.split(new RegExp(`^(?=#+ ${heading.replaceAll('.', '\\.')}$)`, 'm'));
  if (before === undefined || rest === undefined) throw new Error(`The page has no heading "${heading}"`);
  const level = rest.indexOf(' ');
  const [own = ''] = rest.slice(level).split(new RegExp(`^(?=#{1,${level}} )`, 'm'));
  return own;
}

/** The lines of a section, in its order: of its blocks for a shell, and the commands of this program in its sentences. */
export function linesOf(section: string): string[] {
  const found = section.matchAll(
    /^ *```sh\n(?<block>.*?)^ *```$|`(?<sentence>(?:analytics-mirror|git pull) [a-z&-][^`]*)`/gms,
  );
  return [...found].flatMap(({ groups }) => {
    const { block, sentence } = groups ?? {};
    return sentence === undefined ? wholeLines(block ?? '') : [sentence];
  });
}

/** The lines of a block as a person ends them: with what `\`, `&&` and a document in the block join. */
function wholeLines(block: string): string[] {
  const lines: string[] = [];
  let open: string | null = null;
  let isJoined = false;
  for (const line of block.split('\n').filter((each) => each.trim() !== '')) {
    if (open !== null || isJoined) lines.push(`${lines.pop() ?? ''}\n${line}`);
    else lines.push(line);
    isJoined = open === null && /(?:\\|&&)$/.test(line);
    if (open === null) open = /<<'(\w+)'/.exec(line)?.[1] ?? null;
    else if (line === open) open = null;
  }
  return lines;
}

/** The texts in code of the second column of the table, by the words of the first: what to type for `analytics-mirror …`. */
export function typedInstead(section: string): Map<string, string> {
  return new Map(
    [...section.matchAll(/^\| ([\w ]+) \| `([^`]+) …`/gm)].map(([, where = '', what = '']) => [where, what]),
  );
}

/** The block of a section in another language, as `yaml`. Throws if there is none. */
export function blockOf(section: string, language: string): string {
  const block = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(section)?.[1];
  if (block === undefined) throw new Error(`The section has no block of ${language}`);
  return block;
}

/** The headings under which a page has a block for a shell. */
export function headingsWithLines(words: string): string[] {
  const headings = [...words.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading).slice(1);
  return headings.filter((heading) => {
    const [own = ''] = sectionOf(words, heading).split(/^#/m);
    return own.includes('```sh\n');
  });
}
