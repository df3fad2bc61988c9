import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** What a program prints as help for the words of a command. */
function helpOf(program: string, ...words: readonly string[]): string {
  const { stdout, status } = spawnSync(process.execPath, [program, ...words, '--help'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`no help for ${words.join(' ')}`);
  return stdout;
}

/** The commands below some words, by the list in their help. */
export function commandsIn(help: string): string[] {
  const [, listed = ''] = help.split(/^Commands:$/mu);
  const [lines = ''] = listed.split('\n\n');
  return [...lines.matchAll(/^ {2}([a-z-]+)/gmu)].map(([, name = '']) => name).filter((name) => name !== 'help');
}

/** A text as troff shows it, line by line. */
function verbatim(text: string): string {
  const lines = text.trim().split('\n');
  const escaped = lines.map((line) =>
    line
      .replaceAll('\\', '\\e')
      .replaceAll('-', '\\-')
      .replace(/^(?=[.'])/u, '\\&'),
  );
  return `.nf\n${escaped.join('\n')}\n.fi\n`;
}

/** The page of the manual: the helps of all commands, and the exit codes as the documentation has them. */
export function manPage(program: string, version: string, exitCodes: string): string {
  const main = helpOf(program);
  const helps = new Map<string, string>();
  for (const name of commandsIn(main)) {
    helps.set(name, helpOf(program, name));
    for (const below of commandsIn(helps.get(name) ?? '')) helps.set(`${name} ${below}`, helpOf(program, name, below));
  }
  const codes = readFileSync(exitCodes, 'utf8').matchAll(/^\| (\d+) \| ([^|]+) \|/gmu);
  return [
    `.TH ANALYTICS\\-MIRROR 1 "" "analytics\\-mirror ${version}"\n`,
    '.SH NAME\nanalytics\\-mirror \\- a local mirror of an analytics project, Parquet snapshots, and erasure with proof\n',
    `.SH SYNOPSIS\n.B analytics\\-mirror\n[options] command\n.SH DESCRIPTION\n${verbatim(main)}`,
    ...[...helps].map(([name, help]) => `.SH ${name.toUpperCase().replaceAll('-', '\\-')}\n${verbatim(help)}`),
    '.SH EXIT STATUS\n',
    ...[...codes].map(
      ([, code = '', means = '']) => `.TP\n${code}\n${means.trim().replaceAll('`', '').replaceAll('-', '\\-')}\n`,
    ),
  ].join('');
}
